"""What the rounds gained, in sentences: from the results dict, whatever it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lean_finder.reporting.formatting import metric_label, p_value, signed_interval

#: The metric that the sentences speak of.
PRIMARY = "ndcg_at_10"

_SAID = {"better": "better", "worse": "worse", "open": "no difference shown"}


def gains_of(results: Mapping[str, Any], benchmark: str, metric: str = PRIMARY) -> list[dict[str, Any]]:
    """The comparisons of one benchmark and metric, in the order of the arms."""
    return [row for row in results["gains"] if row["benchmark"] == benchmark and row["metric"] == metric]


def gain(
    results: Mapping[str, Any], arm: str, over: str, benchmark: str, metric: str = PRIMARY
) -> dict[str, Any] | None:
    """One comparison, or None if it was not made."""
    for row in gains_of(results, benchmark, metric):
        if (row["arm"], row["over"]) == (arm, over):
            return row
    return None


def sentence(row: Mapping[str, Any]) -> str:
    """One comparison in words.

    Example: "r2 over r0 (round 0): +0.031 [+0.004, +0.058] nDCG@10, p 0.020 (Holm over 3: 0.041): better".
    """
    chance = f"p {p_value(row['p'])} (Holm over {row['compared']}: {p_value(row['p_holm'])})"
    gained = f"{signed_interval(row['effect'])} {metric_label(row['metric'])}"
    return f"{row['arm']} over {row['over']} ({row['over_is']}): {gained}, {chance}: {_SAID[row['verdict']]}"


def scored_tests(results: Mapping[str, Any]) -> list[str]:
    """Names of the test sets, in order; validation sets are never among them."""
    return [name for name, about in results["benchmarks"].items() if about["purpose"] == "test"]


def main_line(results: Mapping[str, Any]) -> list[str]:
    """The arms on the way to the retriever that a user gets, first round first; [] if that is r0."""
    rows = {row["name"]: row for row in results["retrievers"]}
    chain: list[str] = []
    name = results["final"]
    while name in rows and rows[name]["is_arm"] and name not in chain:
        chain.insert(0, name)
        name = rows[name]["prev"]
    return chain


def caption(results: Mapping[str, Any], benchmark: str) -> str:
    """What a benchmark is, with its row set and sizes.

    Example: "embedded (test set, rows all): 734 short queries about 153 declarations".
    """
    about = results["benchmarks"][benchmark]
    purpose = f"test set, rows {about['row_set']}" if about["purpose"] == "test" else "not a test"
    sizes = f"{about['queries']:,} {about['queries_are']} queries about {about['declarations']:,} declarations"
    return f"{benchmark} ({purpose}): {sizes}"


def scale_note(results: Mapping[str, Any]) -> str:
    """What the figures are, so that they are not read as a reproduction of the paper's."""
    corpus = (results["corpus"] or {}).get("counts", {}).get("declarations")
    size = f"{corpus:,} declarations" if corpus is not None else "an unrecorded number of declarations"
    return (
        f"Scale {results['scale']}: retriever {results['models']['retriever']}, generator "
        f"{results['models']['generator']}, a corpus of {size}. The paper's retriever has 8 billion parameters and "
        "searches Mathlib: its figures stand beside ours for orientation and are not comparable."
    )
