"""A small Lean library with one benchmark and one clean set of every role: what leaks are planted into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from lean_finder.audit.inputs import AuditInputs, AuditSettings, Provenance, TrainingSet
from lean_finder.audit.reading import derive_manifest
from lean_finder.corpus.extract import extract_library
from lean_finder.records import BenchmarkQuery, Declaration, to_frame

LIBRARY = """
/-- A place to add and to multiply points of a plane. -/
structure Plane.Frame (α : Type u) where
  origin : α
  unit : α

/-- Stretching by a product is stretching twice, first by the right factor. -/
@[to_additive "Shifting by a sum is shifting twice, first by the right summand."]
theorem Plane.stretch_mul_apply [Monoid M] (a b : M) (hab : Commutes a b) : stretch (a * b) = stretch a ∘ stretch b :=
  by sorry

alias Plane.stretch_twice_apply := Plane.stretch_mul_apply

@[deprecated Plane.stretch_mul_apply (since := "2026-01-15")]
alias Plane.stretch_prod_old := Plane.stretch_mul_apply

/-- The hull of a closed bounded region touches every supporting line of that region. -/
theorem Plane.hull_touches_of_closed (s : Region) (hs : IsClosedRegion s) (hb : IsBoundedRegion s) (l : Line) :
    Supports l s ↔ Touches l (hull s) := by
  sorry

/-- Growing a region never makes its width smaller. -/
theorem Plane.width_le_width (s t : Region) (h : s ⊆ t) (hs : Measured s) (ht : Measured t) : width s ≤ width t := by
  sorry

/-- Shrinking a region never makes its area larger. -/
theorem Plane.area_shrink (s t : Region) (h : t ⊆ s) (k : Nat) (hk : Scales k s) : area t ≤ area s + area k := by
  sorry

/-- A mirrored circle is a circle with the same radius. -/
theorem Plane.circle_mirror (c : Circle) (l : Line) : radius (mirror l c) = radius c := by
  sorry

/-- Turning a line by a half turn gives back the line. -/
theorem Plane.turn_half_line (l : Line) : turn halfTurn l = l := by
  sorry

/-- Kept apart for choosing settings. -/
theorem Plane.kept_for_choices (l m : Line) : meets l m → meets m l := by
  sorry

/-- Every triangle has an inner circle that touches its three sides. -/
theorem Plane.exists_inner_circle (t : Triangle) : ∃ c : Circle, ∀ l ∈ sides t, Touches l c := by
  sorry

/-- A structure of marked points. -/
structure Plane.Marked where
  mark : Point
"""

STRETCH, HULL, WIDTH, FRAME = (
    "Plane.stretch_mul_apply",
    "Plane.hull_touches_of_closed",
    "Plane.width_le_width",
    "Plane.Frame",
)
KEPT, OTHER, THIRD = "Plane.kept_for_choices", "Plane.circle_mirror", "Plane.turn_half_line"

QUERIES = {
    "T1": ("scaling by two factors one after the other equals scaling by their product", STRETCH),
    "T2": ("supporting lines of compact shapes meet the smallest convex set around them", HULL),
    "T3": ("$w(s) \\le w(t)$ whenever $s \\subseteq t$ holds for measured regions", WIDTH),
    "T4": ("`w s ≤ w t` when `s ⊆ t`", WIDTH),
    "T5": ("monotone width", WIDTH),
    "T6": ("coordinate system with a chosen zero and one", FRAME),
}

SETS: dict[str, str] = {
    "r0": "long_queries",
    "r1": "generated_queries",
    "r2": "generated_queries",
    "sft": "generator_sft",
    "prompts": "generator_prompts",
    "pairs": "retriever_pairs",
    "negatives": "hard_negatives",
    "reranker": "reranker_pairs",
    "gepa": "rewriter_set",
    "search": "search_set",
    "judge": "judge_pairs",
}
_MODEL = {"r0": "rule:docstring", "r1": "aaaaaaaaaaaa", "r2": "bbbbbbbbbbbb", "pairs": "rule:docstring"}
PROVENANCE = Provenance(
    arms=frozenset({"r0", "r1", "r2"}),
    models={"r1": frozenset({"aaaaaaaaaaaa"}), "r2": frozenset({"bbbbbbbbbbbb"})},
    rounds={"r0": "r0", "r1": "r1", "r2": "r2"},
)
#: Clean rows: what people might ask about declarations of the training split.
_CLEAN = [
    ("reflecting a circle keeps its radius", OTHER),
    ("half turn fixes every line", THIRD),
    ("incircle of a triangle", "Plane.exists_inner_circle"),
    ("area of a smaller region", "Plane.area_shrink"),
    ("point with a mark", "Plane.Marked"),
]


@dataclass(frozen=True)
class Library:
    """Declarations, manifest and joins as frames."""

    declarations: pd.DataFrame
    manifest: pd.DataFrame
    joins: pd.DataFrame


def benchmark() -> pd.DataFrame:
    """The test queries."""
    rows = [BenchmarkQuery(key, text, gold, "natural") for key, (text, gold) in QUERIES.items()]
    return to_frame(BenchmarkQuery, rows)


@lru_cache(maxsize=1)
def library() -> Library:
    """The library, extracted and split by the corpus package; one declaration is kept for validation."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "Plane.lean").write_text(LIBRARY, encoding="utf-8")
        frame = to_frame(Declaration, extract_library(Path(folder)).declarations)
    frame.loc[frame["name"] == WIDTH, "informal"] = (
        "Whenever one region lies inside another its width is at most the other's."
    )
    manifest, joins = derive_manifest(frame, benchmark(), "made-up")
    manifest.loc[manifest["declaration"] == KEPT, "split"] = "validation"
    return Library(frame, manifest, joins)


def clean_rows(name: str) -> list[dict[str, Any]]:
    """Clean rows of one set."""
    rows = []
    for place, (query, declaration) in enumerate(_CLEAN):
        row: dict[str, Any] = {"query": f"{query}", "declaration": declaration}
        if name == "prompts":
            row = {"declaration": declaration, "prompt": f"Ask for {query}."}
        if name == "negatives":
            row["negatives"] = [THIRD if declaration == OTHER else OTHER]
        if name == "judge":
            row["describes"] = ""
        if name in ("pairs", "sft", "reranker"):
            row["statement"] = None
        if name in _MODEL:
            made = "generated" if name in ("r1", "r2") else "paraphrase"
            arm = "r0" if name == "pairs" else name
            row |= {"query_id": f"{name}-{place}", "source": made, "arm": arm, "model": _MODEL[name]}
        rows.append(row)
    return rows


#: The defaults, but a threshold of meaning from fewer pairs: a million take seconds in each of a hundred audits.
SETTINGS = AuditSettings(meaning_sample=20_000)


def make_inputs(
    extra: Sequence[tuple[str, Mapping[str, Any]]] = (),
    splits: Mapping[str, str] | None = None,
    only: Sequence[str] = tuple(SETS),
) -> AuditInputs:
    """The clean world with further rows (set, cells) at the end of their sets, and with split labels changed.

    Cells that a row does not give are those of a clean row, but for the query, which is then one of its own.
    """
    rows = {name: clean_rows(name) for name in SETS}
    for place, (name, cells) in enumerate(extra):
        base = dict(rows[name][0])
        if "query" in base:
            base["query"] = f"planted {_spoken(place)} of its own"
        if "query_id" in base:
            base["query_id"] = f"{name}-planted-{place}"
        rows[name].append({**base, **cells})
    made = library()
    manifest = made.manifest.copy()
    for declaration, split in (splits or {}).items():
        manifest.loc[manifest["declaration"] == declaration, "split"] = split
    sets = [
        TrainingSet(name, role, pd.DataFrame(rows[name], dtype=object), f"{name}.parquet")
        for name, role in SETS.items()
        if name in only
    ]
    return AuditInputs(
        sets, manifest, made.joins, made.declarations, benchmark(), expected=PROVENANCE, settings=SETTINGS
    )


def with_manifest(inputs: AuditInputs, manifest: pd.DataFrame) -> AuditInputs:
    """The same audit with another manifest."""
    return replace(inputs, manifest=manifest)


_SYNONYMS = {
    "stretch": "scale", "scaling": "scale", "stretching": "scale", "dilating": "scale", "multiply": "product",
    "dilation": "scale", "numbers": "factor", "factors": "factor", "product": "product", "consecutively": "after",
    "successively": "after", "after": "after", "twice": "after", "equal": "equals", "same": "equals",
    "equals": "equals",
    "amounts": "equals", "agrees": "equals", "scalars": "factor", "one": "after", "two": "factor",
}  # fmt: skip


def encode(texts: list[str]) -> np.ndarray:
    """Unit vectors (texts, 512): counts of words by meaning, each hashed to one coordinate by a fixed rule."""
    vectors = np.zeros((len(texts), 512), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in text.lower().split():
            meaning = _SYNONYMS.get(word, word)
            if len(meaning) > 3:
                vectors[row, sum(ord(char) * 31**place for place, char in enumerate(meaning)) % 512] += 1
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _spoken(number: int) -> str:
    """A number as a made-up word, so that planted rows share no words that matter."""
    return "".join("bcdfghjklm"[int(digit)] + "aeiou"[int(digit) % 5] for digit in str(number))
