"""Kind (k): sets that are empty, blank, doubled or unlike real queries."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lean_finder.audit.checks.base import WHOLE_SET, Case, Check, add_evidence
from lean_finder.audit.folding import is_blank
from lean_finder.audit.inputs import NAME_COLUMNS, TEXT_COLUMNS
from lean_finder.audit.rows import is_missing
from lean_finder.surface import kind_distance, largest_gap

_SHORT_ROLES = frozenset({"generated_queries", "generator_sft"})


def find_empty(case: Case) -> dict[int, str]:
    """A set without rows."""
    return {} if len(case.rows) else {WHOLE_SET: "the set has no rows"}


def find_blanks(case: Case) -> dict[int, str]:
    """Rows without a text or without a declaration in a column that the set has."""
    found: dict[int, str] = {}
    frame = case.rows.frame
    optional = {"negatives", "describes"}
    for column in (*TEXT_COLUMNS, *NAME_COLUMNS):
        if column in frame and column not in optional:
            for row, cell in enumerate(frame[column].tolist()):
                blank = is_blank(cell) if isinstance(cell, str) else is_missing(cell) or len(cell) == 0
                if blank:
                    add_evidence(found, [row], f"{column} is blank")
    return found


def find_duplicates(case: Case) -> dict[int, str]:
    """Rows whose folded query and declaration an earlier row already has."""
    if "query" not in case.rows.frame or "declaration" not in case.rows.frame:
        return {}
    pairs = pd.DataFrame({"key": case.rows.query_keys, "name": case.rows.targets})
    pairs = pairs[(pairs["key"] != "") & (pairs["name"] != "")]
    # Two renderings of the positive make two different training examples of one pair.
    if "document_view" in case.rows.frame:
        pairs = pairs.assign(view=case.rows.frame["document_view"].loc[pairs.index].astype(str))
    first = pairs.reset_index().groupby(list(pairs.columns), sort=False)["index"].transform("first").to_numpy()
    doubled = first != pairs.index.to_numpy()
    return {
        int(row): f"the same query and declaration as row {case.rows.numbers[int(earlier)]}"
        for row, earlier in zip(pairs.index[doubled], first[doubled], strict=True)
    }


def find_lengths(case: Case) -> dict[int, str]:
    """A set of short queries whose lengths are unlike those of real ones."""
    real = case.inputs.real_lengths
    if real is None or real.empty or case.rows.training_set.role not in _SHORT_ROLES or "query" not in case.rows.frame:
        return {}
    words = [len(text.split()) for text in case.rows.frame["query"].tolist() if isinstance(text, str) and text.strip()]
    if not words:
        return {}
    ours, theirs = float(pd.Series(words).median()), float(real["words"].median())
    ratio = max(ours, theirs) / max(min(ours, theirs), 1e-9)
    if ratio <= case.inputs.settings.length_factor:
        return {}
    return {WHOLE_SET: f"median query of {ours:g} words, real queries have {theirs:g}"}


def find_styles(case: Case) -> dict[int, str]:
    """A set in which one style has nearly everything."""
    frame = case.rows.frame
    if "style" not in frame or len(frame) < 20:
        return {}
    shares = frame["style"].astype(str).value_counts(normalize=True)
    if shares.iloc[0] <= case.inputs.settings.style_share:
        return {}
    return {WHOLE_SET: f"style {shares.index[0]!r} has {shares.iloc[0]:.0%} of the rows"}


def find_style_distance(case: Case) -> dict[int, str]:
    """A set of generated queries whose lengths or kinds are too far from those of real ones."""
    real = case.inputs.real_queries
    if real is None or case.rows.training_set.role != "generated_queries" or "query" not in case.rows.frame:
        return {}
    ours = [text for text in case.rows.frame["query"].tolist() if isinstance(text, str) and text.strip()]
    theirs = [str(text) for text in real]
    if not ours or not theirs:
        return {}
    lengths = [np.array([len(text.split()) for text in texts]) for texts in (ours, theirs)]
    length, kind = largest_gap(*lengths), kind_distance(ours, theirs)
    if max(length, kind) <= case.inputs.settings.style_distance:
        return {}
    return {WHOLE_SET: f"distance from real queries {length:.2f} in length, {kind:.2f} in kind"}


EMPTY_SET = Check(
    "empty_set", "k", "critical", "A set must have rows: an empty one would pass every other check.", find_empty
)
BLANK = Check("blank", "k", "critical", "Every row must have its text and its declaration.", find_blanks)
DUPLICATE = Check(
    "duplicate_pair",
    "k",
    "warning",
    "The same query with the same declaration should stand once in a set.",
    find_duplicates,
)
LENGTH = Check(
    "query_length", "k", "warning", "Short training queries should be about as long as real ones.", find_lengths
)
STYLE = Check("style_share", "k", "warning", "No style should have nearly all rows of a set.", find_styles)
STYLE_DISTANCE = Check(
    "style_distance",
    "k",
    "warning",
    "Generated queries should have the lengths and the mix of kinds of real ones.",
    find_style_distance,
)
