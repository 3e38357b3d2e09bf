"""Guards the table of judged queries and its command. Alone: pytest tests/generation/test_look.py"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from lean_finder.cli.queries import app
from lean_finder.composition import compose
from lean_finder.errors import InputError
from lean_finder.generation.look import judged_queries, pick
from lean_finder.generation.reward import RewardSettings
from lean_finder.generation.sample import EXTRA_COLUMNS
from lean_finder.records import Pair, columns
from lean_finder.storage import write_table

SETTINGS = RewardSettings(easy_rank=1, full_rank=8, lost_rank=60, length_start=24, length_full=32)


def frame(*rows: tuple[str, str, int, float, int, str]) -> pd.DataFrame:
    """(id, query, rank, score, tokens, reason) as a table with all columns."""
    table = pd.DataFrame(rows, columns=["query_id", "query", "rank_prev", "judge_score", "n_tokens", "reason"])
    rest = {name: "x" for name in columns(Pair) if name not in table.columns}
    return table.assign(**rest)[[*columns(Pair), *EXTRA_COLUMNS, "reason"]]


KEPT = frame(("r1-0", "hard [one]", 20, 0.8, 5, ""), ("r1-1", "easy one", 1, 0.9, 5, "")).drop(columns="reason")
DROPPED = frame(
    ("r1-2", "off target", 30, 0.2, 5, "inconsistent"),
    ("r1-3", "", 0, float("nan"), 0, "empty"),
    ("r1-4", "leaks", 5, 0.7, 5, "leak: exact_query"),
    ("r1-5", "nobody knows", 30, float("nan"), 5, "judge_failed"),
)


def test_rewards_follow_the_arm_s_mode() -> None:
    both = judged_queries(KEPT, DROPPED, SETTINGS).set_index("query_id")["reward"]
    assert both["r1-0"] == 1.0 and both["r1-1"] == 0.0 and both["r1-2"] == 0.0
    assert both["r1-4"] == pytest.approx(math.log(5) / math.log(8))
    assert math.isnan(both["r1-3"]) and math.isnan(both["r1-5"])
    hard = judged_queries(KEPT, DROPPED, RewardSettings(**{**SETTINGS.__dict__, "mode": "difficulty"}))
    assert hard.set_index("query_id")["reward"]["r1-2"] == 1.0


def test_picking_best_worst_and_rejected() -> None:
    table = judged_queries(KEPT, DROPPED, SETTINGS)
    assert pick(table, sort="reward", which="all", reverse=False, n=2)["query_id"].tolist() == ["r1-0", "r1-4"]
    assert pick(table, sort="reward", which="kept", reverse=True, n=9)["query_id"].tolist() == ["r1-1", "r1-0"]
    assert pick(table, sort="rank", which="inconsistent", reverse=False, n=9)["query_id"].tolist() == ["r1-2"]
    assert pick(table, sort="score", which="leak", reverse=False, n=9)["query_id"].tolist() == ["r1-4"]
    last = pick(table, sort="reward", which="dropped", reverse=True, n=9)["query_id"].tolist()
    assert last == ["r1-2", "r1-4", "r1-3", "r1-5"]  # without a reward: last, whichever way round


def test_unknown_choices_are_refused() -> None:
    table = judged_queries(KEPT, DROPPED, SETTINGS)
    with pytest.raises(InputError, match="unknown key 'beauty'"):
        pick(table, sort="beauty", which="all", reverse=False, n=1)
    with pytest.raises(InputError, match=r"unknown choice 'best'.*judge_failed"):
        pick(table, sort="reward", which="best", reverse=False, n=1)


def test_the_command_prints_the_rows(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "params.yaml").write_text(compose(repository / "conf", ["scale=cpu"]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_table(Path("artifacts/queries/r1.parquet"), KEPT)
    write_table(Path("artifacts/queries/r1-dropped.parquet"), DROPPED)
    shown = CliRunner().invoke(app, ["show", "--which", "kept"])
    assert shown.exit_code == 0 and "hard [one]" in shown.output and "off target" not in shown.output
    lines = CliRunner().invoke(app, ["show", "--json", "-n", "1", "--sort", "rank"]).output.splitlines()
    assert [json.loads(line)["query_id"] for line in lines] == ["r1-2"]
    missing = CliRunner().invoke(app, ["show", "--arm", "r9"])
    assert isinstance(missing.exception, InputError)
