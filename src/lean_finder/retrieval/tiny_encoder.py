"""A very small BERT made on the spot: the base retriever of scale `smoke` and of the tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from lean_finder.errors import InputError
from lean_finder.retrieval.contract import TokenizationContract
from lean_finder.retrieval.model_folder import save_model_folder

_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def make_tiny_encoder(
    folder: Path,
    seed: int,
    texts: Sequence[str],
    *,
    contract: TokenizationContract | None = None,
    layers: int = 2,
    dim: int = 64,
    vocabulary: int = 2000,
) -> None:
    """Write a randomly initialised BERT with a word-piece vocabulary taken from `texts`.

    The folder has the same format as a real one. Equal arguments give equal bytes.

    Raises:
        InputError: there is no text to make a vocabulary from.
    """
    if not any(text.strip() for text in texts):
        raise InputError("texts", "no text to make a vocabulary from", "pass the corpus' texts")
    contract = contract or TokenizationContract(max_query_tokens=48, max_document_tokens=96)
    tokenizer = _word_piece(texts, vocabulary)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=dim,
        num_hidden_layers=layers,
        num_attention_heads=max(1, dim // 16),
        intermediate_size=4 * dim,
        max_position_embeddings=max(contract.max_query_tokens, contract.max_document_tokens, 128),
        pad_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BertModel(config)
    save_model_folder(model, tokenizer, contract, Path(folder))


def _word_piece(texts: Sequence[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """A word-piece tokenizer of the texts' characters and most frequent words.

    (The library's own trainer breaks ties by hash order, so two runs differ.)
    """
    normalizer = normalizers.BertNormalizer(lowercase=True)
    splitter = pre_tokenizers.BertPreTokenizer()
    counts = Counter(word for text in texts for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    characters = sorted({character for word in counts for character in word})
    pieces = dict.fromkeys([*_SPECIAL, *characters, *(f"##{character}" for character in characters)])
    for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if len(pieces) >= vocabulary:
            break
        pieces[word] = None
    ids = {piece: place for place, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocab=ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
