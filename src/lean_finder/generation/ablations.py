"""The ablation tables: our arms next to the paper's, scale in its own column.

Table 7 changes the reward of the first round; Table 9 changes where the second round's queries come from. The paper's
figures are MathlibQR at its scale: a row of ours is comparable in sign and order, not in size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lean_finder.errors import InputError


@dataclass(frozen=True)
class AblationRow:
    """One row of a table.

    Attributes:
        table: "7" or "9".
        arm: ours.
        change: what the row changes.
        paper_ndcg_at_1: the paper's figure on MathlibQR.
        paper_recall_at_10: the paper's figure; None where it gives none.
        baseline: our arm that the row is tested against.
    """

    table: str
    arm: str
    change: str
    paper_ndcg_at_1: float
    paper_recall_at_10: float | None
    baseline: str


#: Lean Finder V2, Tables 7 and 9.
PAPER_ROWS = (
    AblationRow("7", "r0", "no synthetic queries", 0.463, 0.760, "r0"),
    AblationRow("7", "r1_difficulty", "difficulty reward only", 0.453, None, "r0"),
    AblationRow("7", "r1_consistency", "consistency reward only", 0.463, 0.780, "r0"),
    AblationRow("7", "r1", "both", 0.520, 0.842, "r0"),
    AblationRow("9", "r1", "round 1", 0.520, None, "r1"),
    AblationRow("9", "r2_base", "round 2 by the frozen base model", 0.469, None, "r1"),
    AblationRow("9", "r2_sft", "round 2 by the supervised generator", 0.473, None, "r1"),
    AblationRow("9", "r2_reuse", "round 2 by round 1's generator", 0.515, None, "r1"),
    AblationRow("9", "r2", "round 2 by a retrained generator", 0.558, None, "r1"),
)

#: Metrics of a table, in order.
METRICS = ("ndcg_at_1", "ndcg_at_10", "recall_at_10")


def ablation_table(
    scores: Mapping[str, Mapping[str, Mapping[str, float]]],
    comparisons: Mapping[tuple[str, str], Mapping[str, Mapping[str, float]]],
    scale: str,
) -> list[dict[str, Any]]:
    """Rows of Tables 7 and 9 for the arms that were run.

    Args:
        scores: arm -> metric -> {"value", "low", "high"}.
        comparisons: (arm, baseline) -> metric -> {"difference", "low", "high", "p"}, paired by declaration.
        scale: name of the scale, for its column.

    Raises:
        InputError: an arm was scored but never compared with its baseline.
    """
    rows = []
    for paper in PAPER_ROWS:
        if paper.arm not in scores:
            continue
        row: dict[str, Any] = {"table": paper.table, "arm": paper.arm, "change": paper.change, "scale": scale}
        for metric in METRICS:
            row[metric] = dict(scores[paper.arm][metric])
        if paper.arm != paper.baseline:
            pair = (paper.arm, paper.baseline)
            if pair not in comparisons:
                raise InputError(f"comparison of {pair[0]} with {pair[1]}", "is missing", "run: dvc repro report")
            row["against"] = paper.baseline
            row["test"] = {metric: dict(comparisons[pair][metric]) for metric in METRICS}
        row["paper"] = {"ndcg_at_1": paper.paper_ndcg_at_1, "recall_at_10": paper.paper_recall_at_10, "scale": "paper"}
        rows.append(row)
    return rows


def ablation_markdown(rows: list[dict[str, Any]]) -> str:
    """The tables as Markdown, ours and the paper's as separate rows so that no figure stands in the wrong scale."""
    lines: list[str] = []
    for table in sorted({row["table"] for row in rows}):
        lines += [f"### As the paper's Table {table}", ""]
        lines += ["| scale | arm | change | nDCG@1 | Recall@10 | nDCG@1 against | p |", "|---|---|---|---|---|---|---|"]
        for row in (row for row in rows if row["table"] == table):
            against, p = _test_cells(row)
            figures = [_cell(row["ndcg_at_1"]), _cell(row["recall_at_10"]), against, p]
            lines.append(f"| {' | '.join([row['scale'], row['arm'], row['change'], *figures])} |")
            recall = row["paper"]["recall_at_10"]
            shown = [f"{row['paper']['ndcg_at_1']:.3f}", f"{recall:.3f}" if recall is not None else ""]
            lines.append(f"| paper | {row['arm']} | {row['change']} | {' | '.join(shown)} | | |")
        lines.append("")
    return "\n".join(lines)


def _cell(metric: Mapping[str, float]) -> str:
    return f"{metric['value']:.3f} [{metric['low']:.3f}, {metric['high']:.3f}]"


def _test_cells(row: Mapping[str, Any]) -> tuple[str, str]:
    if "test" not in row:
        return "", ""
    test = row["test"]["ndcg_at_1"]
    difference = f"{test['difference']:+.3f} [{test['low']:+.3f}, {test['high']:+.3f}]"
    return f"{row['against']}: {difference}", f"{test['p']:.3f}"
