"""Generator folders: made from a GGUF file, made tiny on the spot, saved and loaded.

A generator folder is either a complete Hugging Face causal model (`config.json`, safetensors, tokenizer)
or a PEFT adapter (`adapter_config.json`, safetensors) that needs the base model's folder beside it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.tuners_utils import BaseTunerLayer
from safetensors import SafetensorError
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from lean_finder.errors import InputError
from lean_finder.storage import atomic_path, read_json, write_json

#: ChatML, the template of SmolLM2 and Qwen3 without their default system texts.
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
_TINY_WINDOW, _TINY_BATCH, _TINY_STEPS = 32, 8, 80
ADAPTER_WEIGHTS = "adapter_model.safetensors"
_ADAPTER_CONFIG = "adapter_config.json"


@dataclass(frozen=True)
class Generator:
    """A causal language model with its tokenizer.

    Attributes:
        model: a `transformers` causal model, or a `peft.PeftModel` over one.
        tokenizer: its fast tokenizer, with a chat template.
    """

    model: Any
    tokenizer: Any

    @property
    def end_token_ids(self) -> tuple[int, ...]:
        """Ids after which a query is complete: the tokenizer's end token and padding token."""
        return tuple(sorted({self.tokenizer.eos_token_id, self.tokenizer.pad_token_id}))


@dataclass(frozen=True)
class LoraSettings:
    """Low-rank adapters (Hu et al. 2021): W + (alpha / rank) B A on the named linear layers.

    Attributes:
        rank: width of A and B.
        alpha: scale numerator.
        target_modules: names of the linear layers that get an adapter.
        first_layer: index of the lowest transformer layer that gets one; the layers below stay frozen and need no
            backward pass.
    """

    rank: int = 16
    alpha: int = 32
    target_modules: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    first_layer: int = 0


def save_smollm2(gguf: Path, out: Path) -> None:
    """De-quantise a SmolLM2 GGUF file and save it as a float32 safetensors folder with its tokenizer.

    `save_pretrained` refuses a model that was loaded from GGUF (it is marked as quantised), so the weights move
    into a fresh model that was made from the cleaned configuration.

    Raises:
        InputError: the file is missing or not a complete GGUF model.
    """
    gguf = Path(gguf)
    if not gguf.is_file():
        raise InputError(gguf, "no such file", "run the stage that fetches base models: dvc repro prepare_models")
    try:
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        quantised = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    except (OSError, ValueError, KeyError, IndexError, struct.error) as error:
        raise InputError(gguf, f"not a complete GGUF model: {error}", "fetch the file again") from error
    config = quantised.config
    del config.quantization_config
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(quantised.state_dict())
    with atomic_path(Path(out)) as scratch:
        model.save_pretrained(scratch)
        tokenizer.save_pretrained(scratch)


def make_tiny_generator(folder: Path, seed: int, texts: Sequence[str]) -> None:
    """Write a Llama of 2 layers × 64 with a byte-level BPE tokenizer, both learned from `texts` in a few seconds.

    It has the folder format, the special tokens and the chat template of the real model, so that every stage runs
    on it unchanged; its texts are word salad from `texts`. Equal arguments on one machine give equal weights.

    Raises:
        InputError: no texts.
    """
    if not any(text.strip() for text in texts):
        raise InputError("tiny generator", "no texts to learn from", "give it the library's docstrings")
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        unk_token="<|endoftext|>",
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=True,
        initializer_range=0.1,  # at 0.02 so narrow a model starts almost blind to its input
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    _learn_texts(model, tokenizer, texts, seed)
    with atomic_path(Path(folder)) as scratch:
        model.save_pretrained(scratch)
        tokenizer.save_pretrained(scratch)


def _learn_texts(model: Any, tokenizer: Any, texts: Sequence[str], seed: int) -> None:
    """Some steps of language modelling, so that samples look like `texts` rather than like noise."""
    stream = [token for ids in tokenizer(list(texts))["input_ids"] for token in [*ids, tokenizer.eos_token_id]]
    width = min(_TINY_WINDOW, len(stream))
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    model.train()
    for _ in range(_TINY_STEPS):
        starts = rng.integers(0, len(stream) - width + 1, size=_TINY_BATCH)
        ids = torch.tensor([stream[start : start + width] for start in starts])
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def load_generator(
    folder: Path, base: Path, *, trainable: bool = False, device: str = "cpu", dtype: str = "float32"
) -> Generator:
    """Load a generator folder: a complete model, or an adapter over `base`.

    Args:
        folder: complete model or PEFT adapter.
        base: complete model that an adapter sits on (unused when `folder` is complete itself).
        trainable: leave the adapter's parameters trainable.
        device: where to put it, as torch names it.
        dtype: of the weights, as torch names it.

    Raises:
        InputError: a folder or file is missing or damaged.
    """
    folder, base = Path(folder), Path(base)
    is_adapter = (folder / _ADAPTER_CONFIG).is_file()
    root = base if is_adapter else folder
    for path in [
        root / "config.json",
        *((folder / name for name in (_ADAPTER_CONFIG, ADAPTER_WEIGHTS)) if is_adapter else ()),
    ]:
        if not path.is_file():
            raise InputError(path, "no such file: not a generator folder", "run the stage that makes it: dvc repro")
    try:
        tokenizer = AutoTokenizer.from_pretrained(root, local_files_only=True)
        model = AutoModelForCausalLM.from_pretrained(
            root, dtype=getattr(torch, dtype), local_files_only=True, use_safetensors=True
        )
        if is_adapter:
            model = PeftModel.from_pretrained(model, folder, is_trainable=trainable, local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(folder, f"cannot be loaded: {first_line}", "delete it and run its stage again") from error
    model.to(device).eval()
    return Generator(model, tokenizer)


def add_adapter(generator: Generator, lora: LoraSettings, seed: int) -> Generator:
    """Wrap a complete model in a fresh, trainable adapter (A random by `seed`, B zero: the outputs are unchanged)."""
    layers = list(range(lora.first_layer, generator.model.config.num_hidden_layers))
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=0.0,
        target_modules=list(lora.target_modules),
        layers_to_transform=layers,
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Generator(get_peft_model(generator.model, config), generator.tokenizer)


def save_generator(generator: Generator, base_name: str, out: Path) -> None:
    """Save an adapter (its weights only) or a complete model, atomically and without any machine path inside."""
    with atomic_path(Path(out)) as scratch:
        if isinstance(generator.model, PeftModel):
            config = generator.model.peft_config["default"]
            config.base_model_name_or_path = base_name
            # the embedding layers are the base's: peft would ask the model hub whether they changed
            generator.model.save_pretrained(scratch, selected_adapters=["default"], save_embedding_layers=False)
            (scratch / "README.md").unlink(missing_ok=True)
            written = read_json(scratch / _ADAPTER_CONFIG)
            written["target_modules"] = sorted(written["target_modules"])  # a set: its order changes from run to run
            write_json(scratch / _ADAPTER_CONFIG, written)
        else:
            generator.model.save_pretrained(scratch)
            generator.tokenizer.save_pretrained(scratch)


@contextmanager
def merged_adapter(model: Any) -> Iterator[Any]:
    """Fold the adapter into the base weights while sampling, and put the very same bits back afterwards.

    Sampling is one small matrix product after another, and an unmerged adapter triples their number. Subtracting the
    adapter again would leave rounding errors in the frozen weights, so the originals are kept and copied back.
    A model without an adapter is yielded as it is.
    """
    if not isinstance(model, PeftModel):
        yield model
        return
    tuned = [module for module in model.modules() if isinstance(module, BaseTunerLayer)]
    originals = [module.get_base_layer().weight.data.clone() for module in tuned]
    model.merge_adapter()
    try:
        yield model.get_base_model()
    finally:
        model.unmerge_adapter()
        for module, weight in zip(tuned, originals, strict=True):
            module.get_base_layer().weight.data.copy_(weight)


def best_device(wanted: str) -> str:
    """`wanted`, or for "auto" the first accelerator that torch sees, else "cpu"."""
    if wanted != "auto":
        return wanted
    return "cuda" if torch.cuda.is_available() else "cpu"
