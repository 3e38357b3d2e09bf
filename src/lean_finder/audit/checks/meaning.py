"""Kind (f): a training query that means what a test query means, in other words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lean_finder.audit.checks.base import Case, Check, add_evidence
from lean_finder.audit.inputs import AuditSettings

#: Texts -> (texts, dimensions) unit vectors.
Encode = Callable[[list[str]], NDArray[np.float32]]

#: Training queries compared, and pairs sampled, at a time.
_BLOCK, _PIECE = 4096, 65_536
NAME = "query_meaning"


@dataclass(frozen=True)
class MeaningCost:
    """What the check measured and what it took, for the report.

    Attributes:
        threshold: cosine similarity from which on a pair is reported.
        false_alarm_rate: share of the sampled pairs of unrelated queries above it.
        sampled_pairs: how many pairs that share was measured on.
        encoded_texts: texts of this set that the encoder had to read.
        distinct_texts: texts that the set has.
        compared_pairs: pairs whose similarity was taken.
    """

    threshold: float
    false_alarm_rate: float
    sampled_pairs: int
    encoded_texts: int
    distinct_texts: int
    compared_pairs: int


def meaning_check(encode: Encode) -> Check:
    """The check, with an encoder.

    The threshold is the quantile of the similarities of unrelated queries that leaves the share
    `meaning_false_alarms` above it. Unrelated are random pairs of training queries of different families: pairs with
    test queries would let a leak raise the threshold that should find it.
    """

    def find(case: Case) -> dict[int, str]:
        return _find(case, encode)

    return Check(
        NAME,
        "f",
        "warning",
        "A training query close in meaning to a test query deserves a look, whatever its words.",
        find,
    )


def measured(case: Case) -> dict[str, MeaningCost]:
    """Set -> what the check measured there."""
    return case.shared.setdefault("meaning", {})  # type: ignore[return-value]


def _find(case: Case, encode: Encode) -> dict[int, str]:
    hidden, chosen = case.side.queries.hidden, case.side.settings
    if "query" not in case.rows.frame or not case.rows.by_query or not hidden:
        return {}
    if "test vectors" not in case.shared:
        case.shared["test vectors"] = encode([item.text for item in hidden])
    tests: NDArray[np.float32] = case.shared["test vectors"]  # type: ignore[assignment]
    texts = _drawn(list(case.rows.by_query), chosen)
    vectors = encode(texts)
    families = [case.side.family(case.rows.targets[case.rows.by_query[text][0]]) for text in texts]
    threshold, rate, sampled = _threshold(vectors, families, chosen)
    found: dict[int, str] = {}
    for start in range(0, len(texts), _BLOCK):
        similarities = vectors[start : start + _BLOCK] @ tests.T
        best = similarities.argmax(axis=1)
        for place in np.flatnonzero(similarities.max(axis=1) > threshold).tolist():
            item, value = hidden[int(best[place])], float(similarities[place, best[place]])
            evidence = f"cosine {value:.3f} (threshold {threshold:.3f}) with {item.label} ({item.gold}): {item.text!r}"
            add_evidence(found, case.rows.by_query[texts[start + place]], evidence)
    measured(case)[case.rows.training_set.name] = MeaningCost(
        round(threshold, 4), rate, sampled, len(texts), len(case.rows.by_query), len(texts) * len(tests)
    )
    return found


def _drawn(texts: list[str], settings: AuditSettings) -> list[str]:
    """All texts, or `meaning_texts` of them by seed, in their order."""
    if not settings.meaning_texts or len(texts) <= settings.meaning_texts:
        return texts
    places = np.random.default_rng(settings.seed).choice(len(texts), settings.meaning_texts, replace=False)
    return [texts[place] for place in np.sort(places).tolist()]


def _threshold(vectors: NDArray[np.float32], families: list[str], settings: AuditSettings) -> tuple[float, float, int]:
    """(threshold, share of sampled pairs above it, pairs sampled)."""
    rng = np.random.default_rng(settings.seed)
    _, group = np.unique(families, return_inverse=True)
    values: list[NDArray[np.float32]] = []
    for start in range(0, settings.meaning_sample, _PIECE):
        size = min(_PIECE, settings.meaning_sample - start)
        left, right = rng.integers(0, len(vectors), size), rng.integers(0, len(vectors), size)
        unrelated = group[left] != group[right]
        values.append(np.einsum("ij,ij->i", vectors[left[unrelated]], vectors[right[unrelated]]))
    sample = np.sort(np.concatenate(values))
    if not len(sample):
        return settings.meaning_least, 0.0, 0
    above = int(len(sample) * settings.meaning_false_alarms)
    threshold = max(float(sample[len(sample) - 1 - above]), settings.meaning_least)
    return threshold, float((sample > threshold).mean()), len(sample)
