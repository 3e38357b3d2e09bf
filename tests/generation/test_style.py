"""Guards the style profile and distance. Alone: pytest tests/generation/test_style.py"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lean_finder.errors import InputError
from lean_finder.generation.models import load_generator
from lean_finder.generation.style import distance_interval, style_distance, style_profile, token_lengths
from lean_finder.surface import KINDS, query_kind


@pytest.fixture
def tokenizer(tiny_base: Path) -> Any:
    return load_generator(tiny_base, tiny_base).tokenizer


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        (r"\sum_{i} a_i converges", "latex"),
        ("$x^2 \\ge 0$", "latex"),
        ("Nat.add_comm", "lean"),
        ("(hf : Continuous f)", "lean"),
        ("∀ ε, ∃ δ", "lean"),
        ("ContinuousOn closed interval", "lean"),
        ("is a product of even numbers even", "question"),
        ("mean value theorem?", "question"),
        ("a + b = b + a", "symbols"),
        ("sum of continuous functions", "words"),
        ("Bolzano-Weierstrass", "words"),
    ],
)
def test_query_kind(query: str, kind: str) -> None:
    assert query_kind(query) == kind


def test_profile_counts_tokens_and_kinds(tokenizer: Any) -> None:
    queries = ["sum of functions", "a + b", "Sum of functions", "is it monotone"]
    profile = style_profile(queries, tokenizer)
    assert profile.n == 4 and profile.distinct_share == 0.75
    named = profile.as_dict()
    assert named["kind_shares"] == dict.fromkeys(KINDS, 0.0) | {"words": 0.5, "symbols": 0.25, "question": 0.25}
    assert named["length_quantiles"]["p50"] == pytest.approx(float(np.median(token_lengths(queries, tokenizer))))


def test_distance_is_zero_to_itself_and_one_to_the_opposite(tokenizer: Any) -> None:
    short, long = ["sum"] * 5, [r"$\alpha$ and then a very long query about monotone functions"] * 5
    same = style_distance(short, short, tokenizer)
    assert (same.length, same.kind, same.total) == (0.0, 0.0, 0.0)
    opposite = style_distance(short, long, tokenizer)
    assert (opposite.length, opposite.kind, opposite.total) == (1.0, 1.0, 1.0)
    assert style_distance(long, short, tokenizer) == opposite


def test_half_the_lengths_shifted_is_half_the_distance(tokenizer: Any) -> None:
    real = ["sum"] * 10
    generated = ["sum"] * 5 + ["sum of all the functions and many more"] * 5
    assert style_distance(generated, real, tokenizer).length == pytest.approx(0.5)


def test_interval_contains_the_value_and_names_chance(tokenizer: Any) -> None:
    real = [f"{'sum ' * (i % 7 + 1)}" for i in range(60)]
    near = distance_interval(real[::2], real, tokenizer, seed=1, resamples=60)
    far = distance_interval(["a + b = c"] * 30, real, tokenizer, seed=1, resamples=60)
    assert near["total"][0] <= near["chance"][2] < far["total"][1] <= far["total"][0] <= far["total"][2]
    assert near == distance_interval(real[::2], real, tokenizer, seed=1, resamples=60)


def test_no_queries_are_refused(tokenizer: Any) -> None:
    with pytest.raises(InputError, match="none to profile"):
        style_profile([], tokenizer)
