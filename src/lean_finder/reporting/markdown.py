"""The results as Markdown: `reports/RESULTS.md`, and the table of the README."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lean_finder.reporting.formatting import (
    GAP,
    describe,
    interval,
    metric_label,
    number,
    p_value,
    plain,
    signed,
    signed_interval,
)
from lean_finder.reporting.judges import judge_table
from lean_finder.reporting.probes import probe_table
from lean_finder.reporting.verdicts import caption, gain, gains_of, main_line, scale_note, scored_tests, sentence

_METRICS = ("ndcg_at_1", "ndcg_at_10", "recall_at_10", "recall_at_100", "mrr")
_HEADLINE = ("ndcg_at_1", "ndcg_at_10", "recall_at_10")


def render_markdown(results: Mapping[str, Any]) -> str:
    """RESULTS.md, whole."""
    return "\n".join(_document(results)) + "\n"


def headline_section(results: Mapping[str, Any]) -> str:
    """The README's table: every retriever on every test set, and what the rounds gained."""
    lines: list[str] = []
    for benchmark in scored_tests(results):
        lines += [f"{_capital(caption(results, benchmark))}, scale {results['scale']}:", ""]
        lines += [*_scores_table(results, benchmark, _HEADLINE), ""]
    lines += [*_gained(results), "", scale_note(results)]
    return "\n".join(lines)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of a pipe table, the first `left` columns left-aligned; pipes in cells are escaped."""
    rule = ["---" if at < left else "---:" for at in range(len(header))]
    return [_line(header), _line(rule), *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _document(results: Mapping[str, Any]) -> Iterator[str]:
    yield from ("# Results", "", "Made by the stage `report` from `reports/results.json`. Do not edit.", "")
    yield from (scale_note(results), "")
    if results["reward"]["note"]:
        yield from (results["reward"]["note"], "")
    yield from ("## Retrieval", "")
    yield (
        "Mean over queries with its 95 % cluster bootstrap interval by declaration. The gold's own name counts "
        "(strict); *family* accepts its twins and aliases as well and stands beside strict, never instead of it."
    )
    yield ""
    for benchmark in results["benchmarks"]:
        yield from (f"### {_capital(caption(results, benchmark))}", "")
        yield from _scores_table(results, benchmark, _METRICS, family=True)
        yield from ("", *_outside(results, benchmark))
    yield from ("## What the rounds gained", "", *_gained(results), "")
    yield from _gains_tables(results)
    yield from _styles(results)
    yield from _paper(results)
    yield from _generators(results)
    yield from _queries(results)
    yield from _judge(results)
    yield from _audits(results)
    yield from _corpus(results)
    if results["gaps"]:
        yield from ("## Missing", "", *(f"- {gap}" for gap in results["gaps"]), "")


def _scores_table(
    results: Mapping[str, Any], benchmark: str, metrics: Sequence[str], family: bool = False
) -> list[str]:
    header = ["retriever", "what", "scale", "queries", *(metric_label(metric) for metric in metrics)]
    header += ["family nDCG@10"] * family
    rows = []
    for row in results["retrievers"]:
        scores = row["benchmarks"].get(benchmark)
        name = f"**{row['name']}**" if row["name"] == results["final"] else row["name"]
        cells = [interval(scores["strict"][metric]) if scores else GAP for metric in metrics]
        cells += [interval(scores["family"]["ndcg_at_10"]) if scores else GAP] * family
        rows.append([name, describe(row), results["scale"], f"{scores['scored']}" if scores else GAP, *cells])
    return table(header, rows, left=3)


def _outside(results: Mapping[str, Any], benchmark: str) -> Iterator[str]:
    """A line for queries that failed and golds that are not in the corpus, where there are any."""
    for row in results["retrievers"]:
        scores = row["benchmarks"].get(benchmark)
        if scores and (scores["failed"] or scores["missing_golds"]):
            yield (
                f"{row['name']}: {scores['failed']} queries failed and enter no mean; {scores['missing_golds']} golds "
                f"are not in the corpus and count 0 (a perfect retriever would reach {number(scores['ceiling'])})."
            )
            yield ""


def _gained(results: Mapping[str, Any]) -> list[str]:
    """One line a comparison of the main line, on every test set."""
    chain = main_line(results)
    lines = [
        f"- {benchmark}: {sentence(row)}"
        for benchmark in scored_tests(results)
        for row in gains_of(results, benchmark)
        if row["arm"] in chain
    ]
    return lines or ["No round was compared with another: rankings are missing."]


def _gains_tables(results: Mapping[str, Any]) -> Iterator[str]:
    yield "Same queries, paired; p by randomisation of whole declarations, Holm over all arms of one set and metric."
    yield ""
    for benchmark, about in results["benchmarks"].items():
        rows = [row for row in results["gains"] if row["benchmark"] == benchmark]
        if not rows:
            continue
        note = "" if about["purpose"] == "test" else " (not a test)"
        yield from (f"### Gains on {benchmark}{note}", "")
        yield from table(
            ["arm", "over", "metric", "queries", "difference", "p", "p (Holm)", "verdict"],
            (
                [
                    row["arm"],
                    f"{row['over']} ({row['over_is']})",
                    metric_label(row["metric"]),
                    str(row["queries"]),
                    signed_interval(row["effect"]),
                    p_value(row["p"]),
                    p_value(row["p_holm"]),
                    row["verdict"],
                ]
                for row in rows
            ),
            left=3,
        )
        yield ""


def _styles(results: Mapping[str, Any]) -> Iterator[str]:
    for benchmark in scored_tests(results):
        sizes: dict[str, str] = {}
        for row in results["retrievers"]:
            for style, values in row["benchmarks"].get(benchmark, {}).get("styles", {}).items():
                sizes.setdefault(style, f"{values['queries']} / {values['declarations']}")
        if len(sizes) < 2:
            continue
        yield from (f"## By style on {benchmark} (strict nDCG@10)", "")
        yield from table(["retriever", *sizes], _style_rows(results, benchmark, sizes))
        yield ""


def _style_rows(results: Mapping[str, Any], benchmark: str, sizes: Mapping[str, str]) -> Iterator[list[str]]:
    yield ["*queries / declarations*", *sizes.values()]
    for row in results["retrievers"]:
        styles = row["benchmarks"].get(benchmark, {}).get("styles", {})
        yield [row["name"], *(interval(styles[name]["ndcg_at_10"]) if name in styles else GAP for name in sizes)]


def _paper(results: Mapping[str, Any]) -> Iterator[str]:
    if not results["paper"]:
        return
    yield from ("## Beside the paper", "")
    yield "Different model, corpus and test set: look at the direction of the differences, not at the level."
    yield "The difference is to the arm's predecessor (Table 7: r0, Table 9: r1), paired, as under the gains above."
    yield ""
    header = ["arm", "our set", "metric", "ours", "over its predecessor", "p (Holm)", "our scale"]
    yield from table(
        [*header, "paper", "paper's scale", "where"],
        (
            [
                row["name"],
                row["benchmark"],
                metric_label(row["metric"]),
                interval(row["ours"]),
                *_over_predecessor(results, row),
                row["our_setting"],
                number(row["paper"]),
                row["paper_setting"],
                row["source"],
            ]
            for row in results["paper"]
        ),
        left=3,
    )
    yield ""


def _over_predecessor(results: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[str, str]:
    """Difference and adjusted p of a figure's arm against the arm that it follows; gaps for round 0."""
    prev = next((item.get("prev", "") for item in results["retrievers"] if item["name"] == row["name"]), "")
    made = gain(results, row["name"], prev, row["benchmark"], row["metric"])
    return (signed_interval(made["effect"]), p_value(made["p_holm"])) if made else (GAP, GAP)


def _generators(results: Mapping[str, Any]) -> Iterator[str]:
    if not results["generators"]:
        return
    yield from ("## Generators", "", "First and last: means over the first and the last fifth of the steps.", "")
    header = ["arm", "against", "reward", "generator", "steps", "reward slope a step"]
    header += ["reward", "consistent", "difficulty", "tokens", "entropy", "outcome"]
    yield from table(header, (_generator_row(row) for row in results["generators"]), left=4)
    yield ""
    yield from _probes(results)


def _probes(results: Mapping[str, Any]) -> Iterator[str]:
    """What training changed, on the same declarations with the same random numbers."""
    made = probe_table(results)
    if made:
        yield from (made.note, "", *table(made.header, made.rows), "")


def _generator_row(row: Mapping[str, Any]) -> list[str]:
    slope = row.get("reward_slope")
    return [
        row["arm"],
        row["prev"],
        row["reward"],
        row["generator"],
        plain(row.get("steps")),
        signed(slope, 5),
        *(from_to(row, key) for key in ("reward", "consistency", "difficulty", "length", "entropy")),
        row["status"],
    ]


def from_to(row: Mapping[str, Any], key: str) -> str:
    """First and last value of a part of the reward. Example: "0.21 → 0.34"."""
    first, last = row.get(f"{key}_first"), row.get(f"{key}_last")
    return GAP if first is None or last is None else f"{number(first, 2)} → {number(last, 2)}"


def _queries(results: Mapping[str, Any]) -> Iterator[str]:
    if not results["queries"]:
        return
    bands = [name for row in results["queries"].values() for name in row.get("bands", {})]
    names = list(dict.fromkeys(bands))
    yield from ("## Training queries", "")
    yield "Ranks are those that the previous retriever gave; bands are the reward's."
    yield ""
    header = ["arm", "kept", "declarations", "words (median, p90)", "rank (median, p90)", *names, "left out"]
    yield from table(header, (_query_row(arm, row, names) for arm, row in results["queries"].items()))
    real = [f"{author} {_median_p90(about['words'])} (n {about['words']['n']})" for author, about in _real(results)]
    yield from ("", f"Real short queries, words (median, p90): {'; '.join(real) or 'none'}.", "")


def _real(results: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(author, about) for author, about in results["real_queries"].items() if about["words"]]


def _query_row(arm: str, row: Mapping[str, Any], bands: Sequence[str]) -> list[str]:
    total = sum(row.get("bands", {}).values())
    shares = [f"{row['bands'][name] / total:.0%}" if total else GAP for name in bands]
    dropped = row["dropped"]
    left_out = GAP if dropped is None else ", ".join(f"{name} {count}" for name, count in dropped.items()) or "none"
    return [
        arm,
        str(row["kept"]),
        str(row["declarations"]),
        _median_p90(row["words"]),
        _median_p90(row.get("rank_prev", {})),
        *shares,
        left_out,
    ]


def _median_p90(about: Mapping[str, float]) -> str:
    return f"{about['median']:g}, {about['p90']:g}" if about else GAP


def _judge(results: Mapping[str, Any]) -> Iterator[str]:
    yield from ("## The consistency judge", "")
    if results["judge"] is None:
        yield from ("Not measured: its calibration is missing.", "")
        return
    yield "Measured on labelled pairs; what the judge in use lets pass wrongly ends up in the training queries."
    yield ""
    yield from table(*judge_table(results["judge"]))
    yield ""


def _audits(results: Mapping[str, Any]) -> Iterator[str]:
    if not results["audits"]:
        return
    yield from ("## Audits", "", "Findings per check, over every set that the arm trains on.", "")
    arms = [row["arm"] for row in results["audits"]]
    checks = {name: about["severity"] for row in results["audits"] for name, about in row["checks"].items()}
    rows = [
        [f"`{name}`", severity, *(_findings(row, name) for row in results["audits"])]
        for name, severity in checks.items()
    ]
    rows.append(["**verdict**", "", *("passed" if row["passed"] else "**failed**" for row in results["audits"])])
    yield from table(["check", "severity", *arms], rows, left=2)
    yield ""
    notes = dict.fromkeys(note for row in results["audits"] for note in row["not_checked"])
    yield from (*(f"- not checked: {note}" for note in notes), *([""] if notes else []))


def _findings(audit: Mapping[str, Any], check: str) -> str:
    found = audit["checks"].get(check)
    return GAP if found is None else str(found["findings"])


def _corpus(results: Mapping[str, Any]) -> Iterator[str]:
    yield from ("## Corpus", "")
    corpus = results["corpus"]
    if corpus is None:
        yield from ("Counts are missing.", "")
        return
    counts = ", ".join(f"{value:,} {key}" for key, value in corpus["counts"].items())
    kinds = ", ".join(
        f"{key} {value:,}" for key, value in sorted(corpus["kinds"].items(), key=lambda kv: (-kv[1], kv[0]))
    )
    yield from (f"{counts}.", "", f"By kind: {kinds}.", "")
