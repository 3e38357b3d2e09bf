"""Guards prompts: within their token limit, styles as drawn. Alone: pytest tests/generation/test_prompts.py"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lean_finder.errors import InputError
from lean_finder.generation.models import load_generator
from lean_finder.generation.prompts import (
    choose_style,
    name_words,
    prompt_frame,
    query_prompt,
    style_pair_frame,
    style_weights,
    truncate,
)
from lean_finder.records import Declaration, StyleQuery, to_frame
from tests.generation.toy_library import library, style_queries


@pytest.fixture
def tokenizer(tiny_base: Path) -> Any:
    return load_generator(tiny_base, tiny_base).tokenizer


@pytest.mark.parametrize("limit", [70, 80, 100, 140])
def test_prompts_keep_their_limit_in_tokens(tokenizer: Any, limit: int) -> None:
    signature = "{ι : Type*} (f : ι → ℝ) (hf : ∀ i, ‖f i‖ ≤ 𝓝 1) : ∑ i, f i ≤ ⨆ i, ∏ j, g i j ⊔ h"
    for docstring in ("", "Short.", "The sum of two functions each of which is continuous. " * 5):
        prompt = query_prompt("Real.sum_le", signature, docstring, "", "special_case", tokenizer, limit)
        assert len(tokenizer(prompt)["input_ids"]) <= limit
        assert "special case" in prompt and prompt.endswith("assistant\n") and "\ufffd" not in prompt


def test_a_limit_below_the_template_is_refused(tokenizer: Any) -> None:
    with pytest.raises(InputError, match="leaves no room"):
        query_prompt("a", "b", "c", "", "slogan", tokenizer, 10)


def test_the_name_is_told_only_when_nothing_else_is(tokenizer: Any) -> None:
    arguments = {"signature": ": True", "style": "slogan", "tokenizer": tokenizer, "max_prompt_tokens": 200}
    assert "continuous" not in query_prompt("Continuous.foo_bar", docstring="A fact.", informal="", **arguments)
    assert "A model" in query_prompt("Continuous.foo_bar", docstring="", informal="A model says.", **arguments)
    assert "continuous foo bar" in query_prompt("Continuous.foo_bar", docstring="", informal="", **arguments)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Nat.addComm_of_le", "nat add comm of le"),
        ("MulOpposite.isLUB'", "mul opposite is lub"),
        ("T2Space.foo", "t 2 space foo"),
        ("Filter.map_𝓝", "filter map 𝓝"),
        ("Ideal.«term»", "ideal term"),
    ],
)
def test_name_words(name: str, words: str) -> None:
    assert name_words(name) == words


def test_truncation_ends_with_a_whole_character(tokenizer: Any) -> None:
    text = "∑∏∫⊔"
    for limit in range(15):
        cut = truncate(text, limit, tokenizer)
        assert text.startswith(cut) and len(tokenizer(cut)["input_ids"]) <= limit
    assert truncate(text, 100, tokenizer) == text


def test_styles_are_drawn_by_weight_and_fixed_by_name() -> None:
    drawn = Counter(choose_style(f"d{i}", {"a": 3.0, "b": 1.0, "never": 0.0}, seed=1) for i in range(4000))
    assert drawn["a"] / 4000 == pytest.approx(0.75, abs=0.03) and drawn["never"] == 0
    assert choose_style("d1", {"a": 1, "b": 1}, 1) == choose_style("d1", {"b": 1, "a": 1}, 1)
    assert len({choose_style("d1", {"a": 1, "b": 1}, seed) for seed in range(20)}) == 2


def test_frames_hold_prompts_of_their_declarations(tokenizer: Any) -> None:
    declarations = to_frame(Declaration, library())
    weights = style_weights(style_queries())
    assert weights == {"keywords": 0.5, "slogan": 0.5}
    frame = prompt_frame(declarations, weights, tokenizer, 120, seed=4)
    assert frame["declaration"].tolist() == declarations["name"].tolist()
    assert all(style in prompt for style, prompt in zip(frame["style"], frame["prompt"], strict=True))
    pairs = style_pair_frame(style_queries(), declarations, tokenizer, 120)
    assert pairs["query"].tolist() == [query.query for query in style_queries()]
    assert (
        frame[["declaration", "style", "prompt"]]
        .merge(pairs, on=["declaration", "style"])
        .eval("prompt_x == prompt_y")
        .all()
    )


def test_unknown_declarations_and_missing_styles_are_refused(tokenizer: Any) -> None:
    stray = replace(style_queries()[0], declaration="Not.there")
    with pytest.raises(InputError, match=r"Not\.there"):
        style_pair_frame([stray], to_frame(Declaration, library()), tokenizer, 120)
    none: list[StyleQuery] = []
    with pytest.raises(InputError, match="there are none"):
        style_weights(none)
