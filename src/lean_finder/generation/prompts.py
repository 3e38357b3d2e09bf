"""What the generator is told about a declaration, cut by tokens so that a CPU can afford it.

A small model learns the task from the supervised start, so the prompt only has to carry the declaration and the wanted
style. The target's name is shown only if nothing else describes the declaration: a query that repeats the name is the
easiest of all.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lean_finder.errors import InputError
from lean_finder.records import Declaration, StyleQuery, from_frame

#: Changes with every change of the texts below; stored beside generators and queries.
PROMPT_VERSION = "1"
_SYSTEM = "Short Lean search query, {style}."
_DESCRIPTION_SHARE = 0.6  # of the tokens left for the declaration; the signature gets the rest


def query_prompt(
    name: str, signature: str, docstring: str, informal: str, style: str, tokenizer: Any, max_prompt_tokens: int
) -> str:
    """The whole prompt as text, chat template included, of at most `max_prompt_tokens` tokens.

    Args:
        name: full dotted name.
        signature: binders and type.
        docstring: "" if none.
        informal: description by a model, "" if none.
        style: one of the style names of `records.StyleQuery`.
        tokenizer: the generator's.
        max_prompt_tokens: of the generator, template included.
    """
    description = docstring or informal or name_words(name)
    budget = max_prompt_tokens - _count(tokenizer, _render(tokenizer, "", "", style))
    if budget < 2:
        raise InputError("generator.max_prompt_tokens", f"{max_prompt_tokens} leaves no room", "raise it to 64 or more")
    for left in range(budget, 0, -1):  # pieces cut one by one may take a token more once they are joined
        signature_length = _count(tokenizer, signature)
        most = max(int(left * _DESCRIPTION_SHARE), left - signature_length)
        told = truncate(description, most, tokenizer)
        shown = truncate(signature, left - _count(tokenizer, told), tokenizer)
        prompt = _render(tokenizer, told, shown, style)
        if _count(tokenizer, prompt) <= max_prompt_tokens:
            return prompt
    return _render(tokenizer, "", "", style)


def name_words(name: str) -> str:
    """A Lean name as words: "Nat.addComm_of_le" -> "nat add comm of le"."""
    parts = re.split(r"[._\s']+", name)
    words = [word for part in parts for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d]+", part)]
    return " ".join(word.lower() for word in words)


def truncate(text: str, max_tokens: int, tokenizer: Any) -> str:
    """The longest prefix of at most `max_tokens` tokens that ends with a whole character."""
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    if len(ids) <= max_tokens:
        return text
    cut = max_tokens
    while cut > 0:
        prefix = str(tokenizer.decode(ids[:cut])).rstrip("\ufffd").rstrip()
        if _count(tokenizer, prefix) <= max_tokens:
            return prefix
        cut -= 1
    return ""


def choose_style(declaration: str, styles: Mapping[str, float], seed: int) -> str:
    """A style drawn in proportion to its weight, fixed by seed and declaration."""
    names = sorted(styles)
    weights = np.array([styles[name] for name in names], dtype=np.float64)
    digest = hashlib.sha256(f"style\0{seed}\0{declaration}".encode()).digest()
    position = int.from_bytes(digest[:8], "little") / 2**64 * weights.sum()
    return names[min(int(np.searchsorted(weights.cumsum(), position, side="right")), len(names) - 1)]


def style_weights(pairs: Sequence[StyleQuery]) -> dict[str, float]:
    """How often each style occurs among real queries, as shares that sum to 1."""
    if not pairs:
        raise InputError("style queries", "there are none", "restore the file: dvc pull")
    counts = pd.Series([pair.style for pair in pairs]).value_counts(normalize=True)
    return {str(style): float(share) for style, share in sorted(counts.items())}


def prompt_frame(
    declarations: pd.DataFrame, styles: Mapping[str, float], tokenizer: Any, max_prompt_tokens: int, seed: int
) -> pd.DataFrame:
    """One prompt per declaration, its style drawn by seed and name.

    Args:
        declarations: columns of `records.Declaration`.
        styles: style -> weight, see `style_weights`.
        tokenizer: the generator's.
        max_prompt_tokens: of the generator.
        seed: of the style draw.

    Returns:
        Columns declaration, style, prompt; the rows in the order of `declarations`.
    """
    rows = []
    for item in from_frame(Declaration, declarations):
        style = choose_style(item.name, styles, seed)
        prompt = query_prompt(
            item.name, item.signature, item.docstring, item.informal, style, tokenizer, max_prompt_tokens
        )
        rows.append((item.name, style, prompt))
    return pd.DataFrame(rows, columns=["declaration", "style", "prompt"])


def style_pair_frame(
    pairs: Sequence[StyleQuery], declarations: pd.DataFrame, tokenizer: Any, max_prompt_tokens: int
) -> pd.DataFrame:
    """Real queries with the prompts that should lead to them: columns declaration, style, prompt, query.

    Raises:
        InputError: a query's declaration is not in the corpus.
    """
    by_name = {item.name: item for item in from_frame(Declaration, declarations)}
    rows = []
    for pair in pairs:
        item = by_name.get(pair.declaration)
        if item is None:
            raise InputError(
                "style queries", f"{pair.declaration!r} is not in the corpus", "correct or remove the query"
            )
        prompt = query_prompt(
            item.name, item.signature, item.docstring, item.informal, pair.style, tokenizer, max_prompt_tokens
        )
        rows.append((pair.declaration, pair.style, prompt, pair.query))
    return pd.DataFrame(rows, columns=["declaration", "style", "prompt", "query"])


def _render(tokenizer: Any, description: str, signature: str, style: str) -> str:
    messages = [
        {"role": "system", "content": _SYSTEM.format(style=style.replace("_", " "))},
        {"role": "user", "content": f"{description}\n{signature}"},
    ]
    # enable_thinking: Qwen3's template opens a chain of thought unless told otherwise; other templates ignore it.
    return str(
        tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, enable_thinking=False)
    )


def _count(tokenizer: Any, text: str) -> int:
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])
