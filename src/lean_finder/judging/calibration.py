"""A judge's threshold, set on labelled pairs, and how often the judge errs.

The threshold is chosen on some declarations and its errors are counted on others (cross-validation grouped by
declaration), so the reported rates speak of declarations that the threshold has never seen. The final threshold is
chosen on all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lean_finder.errors import InputError
from lean_finder.judging.consistency import Verdict
from lean_finder.records import JudgedPair

#: Kinds of inconsistent pairs whose false-accept rates are reported apart.
CONTRASTS = ("one_symbol", "other")


@dataclass(frozen=True)
class Interval:
    """A rate with its 95 % bootstrap interval (resampled by declaration) and the number of pairs it rests on."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class JudgeReport:
    """How well a judge agrees with the labels.

    Attributes:
        threshold: the final threshold; None for a judge that has none.
        precision: share of the accepted pairs that are consistent.
        recall: share of the consistent pairs that are accepted.
        f1: their harmonic mean.
        false_accept_one_symbol: share accepted of the neighbours that differ in one symbol.
        false_accept_other: share accepted of the other inconsistent pairs.
        auc: probability that a consistent pair scores above an inconsistent one; None without scores.
        pairs: labelled pairs.
        failed: pairs that the judge could not decide; they are in no rate.
    """

    threshold: float | None
    precision: Interval
    recall: Interval
    f1: Interval
    false_accept_one_symbol: Interval
    false_accept_other: Interval
    auc: float | None
    pairs: int
    failed: int

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def best_threshold(scores: np.ndarray, labels: np.ndarray, beta: float = 1.0) -> float:
    """The threshold with the highest F-beta when score >= threshold is accepted; of equals the highest.

    It lies halfway between two neighbouring scores, so that rounding cannot flip a pair. beta < 1 weighs precision.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(labels[order])
    accepted = np.arange(1, len(scores) + 1)
    f = (1 + beta**2) * hits / (beta**2 * labels.sum() + accepted)
    cuts = np.append(ranked[:-1] > ranked[1:], True)  # only between distinct scores
    best = int(np.argmax(np.where(cuts, f, -1.0)))
    below = ranked[best + 1] if best + 1 < len(ranked) else ranked[best] - 1e-6
    return float((ranked[best] + below) / 2)


def calibrate(
    pairs: Sequence[JudgedPair],
    score: Callable[[Sequence[str], Sequence[str]], np.ndarray],
    *,
    folds: int,
    seed: int,
    beta: float = 1.0,
    resamples: int = 1000,
) -> JudgeReport:
    """Choose a scoring judge's threshold and measure its errors on declarations held out from that choice.

    Args:
        pairs: labelled pairs.
        score: (queries, declarations) -> scores, e.g. `EncoderJudge.scores`.
        folds: of the cross-validation; every declaration lies in one fold with all its pairs.
        seed: of folds and bootstrap.
        beta: see `best_threshold`.
        resamples: of the bootstrap.

    Raises:
        InputError: a label is missing, or there are fewer declarations than folds.
    """
    labels = _labels(pairs)
    names = sorted({pair.declaration for pair in pairs})
    if len(names) < folds:
        raise InputError("judge.folds", f"{folds} folds, {len(names)} declarations", "label more pairs or lower it")
    scores = np.asarray(score([p.query for p in pairs], [p.declaration for p in pairs]), dtype=np.float64)
    order = np.random.default_rng([seed, 0]).permutation(len(names))
    fold_of = {name: int(order[place] % folds) for place, name in enumerate(names)}
    fold = np.array([fold_of[pair.declaration] for pair in pairs])
    accepted = np.zeros(len(pairs), dtype=bool)
    for held_out in range(folds):
        rest = fold != held_out
        threshold = best_threshold(scores[rest], labels[rest], beta)
        accepted[~rest] = scores[~rest] >= threshold
    return _report(pairs, labels, accepted, seed, resamples, best_threshold(scores, labels, beta), _auc(scores, labels))


def measure(
    pairs: Sequence[JudgedPair], verdicts: Sequence[Verdict | None], *, seed: int, resamples: int = 1000
) -> JudgeReport:
    """Measure a judge that needs no threshold (an LLM, a vote) by its verdicts on labelled pairs."""
    decided = [(pair, verdict) for pair, verdict in zip(pairs, verdicts, strict=True) if verdict is not None]
    kept = [pair for pair, _ in decided]
    accepted = np.array([verdict.consistent for _, verdict in decided], dtype=bool)
    report = _report(kept, _labels(kept), accepted, seed, resamples, None, None)
    return JudgeReport(**{**report.__dict__, "failed": len(pairs) - len(kept)})


def threshold_table(
    pairs: Sequence[JudgedPair], scores: np.ndarray, sampled: np.ndarray, thresholds: Sequence[float]
) -> list[dict[str, float]]:
    """What another threshold would do: to the labelled pairs, and to the queries sampled in a round.

    Args:
        pairs: labelled pairs.
        scores: theirs.
        sampled: judge scores of a round's sampled queries (NaN = not judged, left out).
        thresholds: to try.

    Returns:
        One row per threshold: threshold, precision (1 when nothing is accepted), recall,
        false_accept_one_symbol, false_accept_other, kept (share of the sampled queries that would be accepted).
    """
    labels = _labels(pairs)
    judged = sampled[~np.isnan(sampled)]
    rows = []
    for threshold in thresholds:
        accepted = scores >= threshold
        row = {
            "threshold": float(threshold),
            "precision": 1.0 if not accepted.any() else float(labels[accepted].mean()),
        }
        row["recall"] = float(accepted[labels].mean())
        for contrast in CONTRASTS:
            of_kind = np.array([not pair.consistent and pair.contrast == contrast for pair in pairs])
            row[f"false_accept_{contrast}"] = float(accepted[of_kind].mean()) if of_kind.any() else 0.0
        row["kept"] = float((judged >= threshold).mean()) if len(judged) else 0.0
        rows.append(row)
    return rows


def _labels(pairs: Sequence[JudgedPair]) -> np.ndarray:
    """Whether each pair is consistent: bool (n,)."""
    labels = np.array([pair.consistent for pair in pairs], dtype=bool)
    if not labels.any() or labels.all():
        raise InputError("judge pairs", "need consistent and inconsistent pairs", "restore the file: dvc pull")
    return labels


def _auc(scores: np.ndarray, labels: np.ndarray) -> float:
    """Area under the ROC curve, ties counted half (Mann-Whitney)."""
    difference = scores[labels][:, None] - scores[~labels][None, :]
    return float((difference > 0).mean() + 0.5 * (difference == 0).mean())


def _report(
    pairs: Sequence[JudgedPair],
    labels: np.ndarray,
    accepted: np.ndarray,
    seed: int,
    resamples: int,
    threshold: float | None,
    auc: float | None,
) -> JudgeReport:
    """Rates with bootstrap intervals from weights (resamples, pairs): how often each pair's declaration was drawn."""
    names, group = np.unique([pair.declaration for pair in pairs], return_inverse=True)
    draws = np.random.default_rng([seed, 1]).integers(0, len(names), size=(resamples, len(names)))
    times = np.stack([np.bincount(draw, minlength=len(names)) for draw in draws])
    weights = np.vstack([np.ones(len(pairs)), times[:, group]])  # row 0: the sample itself

    def rate(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
        above, below = weights @ numerator, weights @ denominator
        return np.divide(above, below, out=np.full(len(below), np.nan), where=below > 0)

    def interval(values: np.ndarray, n: int) -> Interval:
        low, high = np.nanpercentile(values[1:], [2.5, 97.5]) if n else (0.0, 0.0)
        return Interval(float(values[0]) if n else 0.0, float(low), float(high), int(n))

    precision = rate(accepted & labels, accepted)
    recall = rate(accepted & labels, labels)
    f1 = rate(2.0 * (accepted & labels), 1.0 * accepted + labels)
    kinds = {kind: np.array([pair.contrast == kind for pair in pairs]) & ~labels for kind in CONTRASTS}
    false_accepts = {
        kind: interval(rate(accepted & of_kind, of_kind), of_kind.sum()) for kind, of_kind in kinds.items()
    }
    return JudgeReport(
        threshold=threshold,
        precision=interval(precision, accepted.sum()),
        recall=interval(recall, labels.sum()),
        f1=interval(f1, len(pairs)),
        false_accept_one_symbol=false_accepts["one_symbol"],
        false_accept_other=false_accepts["other"],
        auc=auc,
        pairs=len(pairs),
        failed=0,
    )
