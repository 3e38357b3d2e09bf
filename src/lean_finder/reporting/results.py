"""The results of a run as one dict: equal files give an equal dict, so it holds no times, hashes or machine paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lean_finder.evaluation.evaluate import compare
from lean_finder.evaluation.statistics import holm
from lean_finder.generation.reward import RewardSettings, rank_bands
from lean_finder.reporting.inputs import Retriever, Study
from lean_finder.reporting.paper import claims_of, lineage
from lean_finder.reporting.probes import describe_probes
from lean_finder.reporting.queries import describe_queries, summary, word_counts

#: Metrics that arms are compared on; the first is the one that the verdicts speak of.
COMPARED = ("ndcg_at_10", "ndcg_at_1", "recall_at_10")

#: Below this Holm-adjusted p a difference is called one.
SIGNIFICANT = 0.05

_DIGITS = 6
_LONGEST_LIST = 20  # a longer list in the judge's file is working material, not a result


def build_results(study: Study) -> dict[str, Any]:
    """Everything that the table, RESULTS.md and the page say.

    Raises:
        InputError: rankings that answer different queries.
    """
    arms = {
        item.name: {"prev": item.files.prev, "reward": item.files.reward, "generator": item.files.generator_kind}
        for item in study.arms
    }
    results = {
        "scale": study.scale,
        "seed": study.seed,
        "final": study.final,
        "models": dict(study.models),
        "corpus": _corpus(study.extraction),
        "benchmarks": _benchmarks(study),
        "retrievers": [_retriever(item, arms) for item in study.retrievers],
        "gains": list(_gains(study, arms)),
        "paper": list(_paper(study, arms)),
        "queries": {
            item.name: describe_queries(item.queries, item.dropped, study.reward)
            for item in study.retrievers
            if item.queries is not None
        },
        "real_queries": {
            str(author): {"words": summary(word_counts(rows["query"]))}
            for author, rows in study.style.groupby("author")
        },
        "generators": [_generator(item, study) for item in study.arms],
        "judge": _judge(study.judge),
        "reward": _reward(study.reward, study.extraction),
        "audits": [_audit(item) for item in study.retrievers if item.audit is not None],
        "gaps": sorted(gap for gap in study.gaps if not gap.startswith("times:")),
    }
    return _rounded(results)


def headline_metrics(results: Mapping[str, Any]) -> dict[str, float]:
    """The final figures, flat, for the tracker: "r1.embedded.ndcg_at_10", "gain.r1.r0.embedded.ndcg_at_10"."""
    found: dict[str, float] = {}
    for row in results["retrievers"]:
        for benchmark, scores in row["benchmarks"].items():
            found |= {f"{row['name']}.{benchmark}.{key}": figure["value"] for key, figure in scores["strict"].items()}
    for gain in results["gains"]:
        found[f"gain.{gain['arm']}.{gain['over']}.{gain['benchmark']}.{gain['metric']}"] = gain["effect"]["value"]
    for row in results["generators"]:
        if row.get("reward_slope") is not None:
            found[f"generator.{row['arm']}.reward_slope"] = row["reward_slope"]
        if row.get("probes"):
            found |= {
                f"generator.{row['arm']}.gained.{key}": it["value"] for key, it in row["probes"]["gained"].items()
            }
    return found


def _corpus(extraction: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if extraction is None:
        return None
    return {"counts": extraction.get("counts", {}), "kinds": extraction.get("kinds", {})}


def _benchmarks(study: Study) -> dict[str, dict[str, Any]]:
    """Name -> purpose (test or validation), whether its queries are long, row set and sizes; tests first."""
    scored = {name: scores for item in study.retrievers for name, scores in item.metrics.items()}
    names = [name for name in study.benchmarks if name in scored]
    names += sorted(set(scored) - set(study.benchmarks))
    found = {}
    for name in names:
        styles = {query.style for query in study.benchmarks.get(name, ())}
        found[name] = {
            "purpose": "test" if name in study.benchmarks else "validation",
            "queries_are": "long" if styles == {"long"} else "short",
            "row_set": scored[name]["row_set"],
            "queries": scored[name]["queries"],
            "declarations": scored[name]["declarations"],
        }
    return found


def _retriever(item: Retriever, arms: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": item.name, "about": item.files.about, "is_arm": item.is_arm}
    row["uncertified"] = item.uncertified
    if item.is_arm:
        row |= {"round": len(lineage(item.name, arms)) - 1, **arms[item.name]}
    row["benchmarks"] = {name: _scores(scores) for name, scores in item.metrics.items()}
    return row


def _scores(scores: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("row_set", "queries", "scored", "declarations", "ceiling", "strict", "family")
    styles = scores.get("slices", {}).get("style", {})
    return {
        **{key: scores[key] for key in kept},
        "failed": scores["failed"]["queries"],
        "missing_golds": scores["missing_golds"]["declarations"],
        "styles": {
            name: {
                "queries": values["queries"],
                "declarations": values["declarations"],
                **{metric: values["strict"][metric] for metric in COMPARED},
            }
            for name, values in styles.items()
        },
    }


def _gains(study: Study, arms: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every arm against round 0 and against its predecessor; one Holm family per benchmark and metric."""
    pairs = list(dict.fromkeys((over, name) for name, arm in arms.items() for over in ("r0", arm["prev"])))
    names = dict.fromkeys(name for item in study.retrievers for name in item.rankings)
    for benchmark in names:
        rankings = {item.name: item.rankings[benchmark] for item in study.retrievers if benchmark in item.rankings}
        made = {
            (over, name): compare(rankings[over], rankings[name], metrics=COMPARED, seed=study.seed)
            for over, name in pairs
            if over in rankings and name in rankings
        }
        for metric in COMPARED:
            adjusted = holm([found["metrics"][metric]["p"] for found in made.values()])
            for ((over, name), found), p_holm in zip(made.items(), adjusted, strict=True):
                effect, p = found["metrics"][metric]["effect"], found["metrics"][metric]["p"]
                yield {
                    "benchmark": benchmark,
                    "metric": metric,
                    "arm": name,
                    "over": over,
                    "over_is": _relation(over, arms[name]["prev"]),
                    "queries": found["queries"],
                    "declarations": found["declarations"],
                    "effect": effect,
                    "p": p,
                    "p_holm": p_holm,
                    "compared": len(made),
                    "verdict": verdict(effect["value"], p_holm),
                }


def _relation(over: str, prev: str) -> str:
    if over == "r0":
        return "round 0, its predecessor" if prev == "r0" else "round 0"
    return "its predecessor"


def verdict(effect: float, p_holm: float) -> str:
    """A difference in one word: better, worse, or open when chance alone explains it."""
    if p_holm >= SIGNIFICANT:
        return "open"
    return "better" if effect > 0 else "worse"


def _paper(study: Study, arms: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Our figure beside the paper's, test sets of the same kind only."""
    benchmarks = _benchmarks(study)
    for item in study.retrievers:
        for claim in claims_of(item.name, arms):
            for benchmark, about in benchmarks.items():
                if about["purpose"] != "test" or about["queries_are"] != claim.queries or benchmark not in item.metrics:
                    continue
                yield {
                    "name": item.name,
                    "benchmark": benchmark,
                    "metric": claim.metric,
                    "ours": item.metrics[benchmark]["strict"][claim.metric],
                    "our_setting": f"{study.scale}, {study.models.get('retriever', '')}, {about['queries']} queries",
                    "paper": claim.value,
                    "paper_setting": claim.setting,
                    "source": claim.source,
                }


def _generator(item: Retriever, study: Study) -> dict[str, Any]:
    """How an arm's generator came about, and what its training did to the reward and its parts."""
    files = item.files
    row: dict[str, Any] = {
        "arm": item.name,
        "prev": files.prev,
        "reward": files.reward,
        "generator": files.generator_kind,
    }
    if item.same_as:
        return row | {"status": f"nothing trained: the same as {item.same_as}"}
    if not item.history:
        return row | {"status": "history missing"}
    found = item.history.get("summary", {})
    row["status"] = f"stopped early: {found['stopped']}" if found.get("stopped") else "trained"
    row |= {"steps": found.get("steps"), "reward_slope": found.get("reward_slope")}
    for label, key in {
        "reward": "reward",
        "consistency": "part_consistency",
        "difficulty": "part_difficulty",
        "length": "part_length",
        "entropy": "entropy",
    }.items():
        row |= {f"{label}_{end}": found.get(f"{key}_{end}") for end in ("first", "last")}
    row["bands"] = {name: found.get(f"ranks_{name}_total") for name in rank_bands(study.reward)}
    row["probes"] = describe_probes(item.history.get("probes", []), study.reward, study.seed)
    return row


def _judge(judge: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What the calibration wrote, without its working lists."""
    if judge is None:
        return None
    kept = {}
    for key, value in judge.items():
        if isinstance(value, Mapping):
            kept[key] = _judge(value)
        elif not (isinstance(value, list) and len(value) > _LONGEST_LIST):
            kept[key] = value
    return kept


def _reward(reward: RewardSettings, extraction: Mapping[str, Any] | None) -> dict[str, Any]:
    """The constants used, the paper's, and a sentence if they differ."""
    ours, paper = asdict(reward), asdict(RewardSettings())
    for values in (ours, paper):
        del values["mode"], values["measure_all"]
    ranks = ("easy_rank", "full_rank", "lost_rank")
    scaled = any(ours[key] != paper[key] for key in ranks)
    note = ""
    if scaled:
        used, published = ("/".join(str(values[key]) for key in ranks) for values in (ours, paper))
        note = f"Rank bands are {used} (easy/full/lost) instead of the paper's {published}, which suit Mathlib's size"
        size = (extraction or {}).get("counts", {}).get("declarations")
        note += "." if size is None else f"; this corpus has {size:,} declarations."
    return {"used": ours, "paper": paper, "scaled": scaled, "note": note}


def _audit(item: Retriever) -> dict[str, Any]:
    audit = item.audit or {}
    return {
        "arm": item.name,
        "passed": audit["passed"],
        "critical": audit["critical"],
        "warnings": audit["warnings"],
        "checks": {
            name: {
                "severity": about["severity"],
                "findings": sum(about["findings"].values()),
                "sets": len(about["findings"]),
            }
            for name, about in audit["checks"].items()
        },
        "rows": {name: about["rows"] for name, about in audit["sets"].items()},
        "not_checked": audit["not_checked"],
    }


def _rounded(value: Any) -> Any:
    """Floats to six decimals (six digits where smaller), numbers of other libraries to plain ones."""
    if isinstance(value, Mapping):
        return {str(key): _rounded(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return round(value, _DIGITS) if abs(value) >= 1e-3 else float(f"{value:.{_DIGITS}g}")
    return value
