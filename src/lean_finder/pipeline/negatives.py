"""Mining hard negatives over training declarations only.

What is mined becomes a candidate of the loss, so its text reaches training. Declarations of the test and the validation
split are therefore taken out *before* the search, not filtered from its result: the window of ranks then counts
candidates that may be used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lean_finder.errors import InputError
from lean_finder.params import HardNegativeParams, Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import Corpus
from lean_finder.pipeline.training_pairs import mined_negatives
from lean_finder.records import Negative
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.hard_negatives import HardNegativeSettings, mine_hard_negatives
from lean_finder.retrieval.index import DenseIndex, IndexMeta
from lean_finder.retrieval.shards import encode_in_shards, forget_shards
from lean_finder.storage import file_digest


def mine(params: Params, asked: HardNegativeParams, arm: str, corpus: Corpus, pairs: pd.DataFrame) -> list[Negative]:
    """Hard negatives of every pair of an arm, in the order of the pairs.

    Args:
        params: for the seed, the arms and the number type of round 0's documents.
        asked: how many, from which ranks.
        arm: r0 is mined with the base retriever over a sample, an arm with its predecessor's whole index.
        corpus: with its manifest; only its training declarations are candidates.
        pairs: columns of `records.Pair`, queries rendered.

    Raises:
        InputError: a positive is not a training declaration, or the index is not the previous retriever's.
    """
    positives = pairs["declaration"].tolist()
    if arm in params.arms:
        prev = params.arms[arm].prev
        encoder = Encoder.load(paths.retriever(prev))
        index = _previous_index(prev, encoder, corpus)
    else:
        encoder = Encoder.load(paths.BASE_RETRIEVER)
        of_documents = Encoder.load(paths.BASE_RETRIEVER, dtype=params.index.dtype)
        index = _first_index(arm, of_documents, corpus, sampled_names(corpus, positives, asked.documents, params.seed))
    settings = HardNegativeSettings(asked.per_query, asked.first_rank, asked.last_rank, asked.margin, seed=params.seed)
    queries = encoder.encode_queries(pairs["query"].tolist())
    answers = encoder.encode_documents(list(map(corpus.text, positives, pairs["document_view"])))
    rows = mine_hard_negatives(index, queries, answers, positives, corpus.family_of, settings)
    forget_shards(paths.checkpoints("negatives", arm))
    return [
        Negative(identifier, name) for identifier, names in zip(pairs["query_id"], rows, strict=True) for name in names
    ]


def usable_negatives(arm: str, pairs: pd.DataFrame, corpus: Corpus) -> list[list[str]] | None:
    """`training_pairs.mined_negatives`, checked once more at the door of training: no audit reads this table.

    Args:
        arm: whose negatives.
        pairs: columns of `records.Pair`, the rows that they were mined for.
        corpus: with its manifest.

    Raises:
        InputError: mined for other pairs, not a training declaration, or of the positive's own family.
    """
    rows = mined_negatives(arm, pairs)
    for identifier, positive, names in zip(pairs["query_id"], pairs["declaration"], rows or [], strict=False):
        for name in names:
            wrong = ""
            if corpus.split_of.get(name) != "train":
                wrong = "is not a training declaration"
            elif corpus.family_of[name] == corpus.family_of.get(positive, positive):
                wrong = f"is of the family of {positive}"
            if wrong:
                raise InputError(paths.negatives(arm), f"{name}, mined for {identifier}, {wrong}", "mine again")
    return rows


def sampled_names(corpus: Corpus, positives: Sequence[str], documents: int, seed: int) -> list[str]:
    """The positives and `documents` training declarations drawn by seed (0 = all), in corpus order.

    A positive of another split is left out, so that mining stops at it instead of offering it to the other queries.
    """
    names = _training_names(corpus)
    if not documents or documents >= len(names):
        return names
    drawn = np.random.default_rng(seed).permutation(len(names))[:documents]
    kept = {*positives, *(names[at] for at in drawn)}
    return [name for name in names if name in kept]


def _training_names(corpus: Corpus) -> list[str]:
    """Neither test nor validation: what may be read in training."""
    return [name for name in corpus.names if corpus.split_of[name] == "train"]


def _previous_index(prev: str, encoder: Encoder, corpus: Corpus) -> DenseIndex:
    """The rows of the previous retriever's index that are training declarations."""
    whole = DenseIndex.load(
        paths.index(prev), model=encoder.digest, contract=encoder.contract, corpus=file_digest(paths.DECLARATIONS)
    )
    names = _training_names(corpus)
    return DenseIndex.build(names, whole.vectors[whole.ids_of(names)], meta=whole.meta)


def _first_index(arm: str, encoder: Encoder, corpus: Corpus, names: Sequence[str]) -> DenseIndex:
    """Some declarations under the base retriever; pieces wait in the arm's checkpoints."""
    texts = [corpus.text(name) for name in names]
    vectors = encode_in_shards(encoder, texts, paths.checkpoints("negatives", arm))
    meta = IndexMeta(encoder.digest, file_digest(paths.DECLARATIONS), encoder.contract, encoder.dtype)
    return DenseIndex.build(names, vectors, meta=meta)
