"""Guards what the report says of the probes. Run: pytest tests/reporting/test_probes.py"""

from __future__ import annotations

import math
from typing import Any

import pytest

from lean_finder.generation.reward import RewardSettings
from lean_finder.reporting.probes import describe_probes, probe_table

REWARD = RewardSettings(easy_rank=1, full_rank=8, lost_rank=60)


def probe(step: int, *samples: tuple[str, int | None, bool | None, float | None]) -> dict[str, Any]:
    names = ("declaration", "rank", "consistent", "reward")
    return {"step": step, "samples": [dict(zip(names, sample, strict=True)) for sample in samples]}


PROBES = [
    probe(0, ("a", 1, True, 0.0), ("a", 4, False, 0.0), ("b", None, False, 0.0), ("b", 2, None, None)),
    probe(8, ("a", 4, True, 0.5), ("a", 1, True, 0.0), ("b", 16, True, 1.0), ("b", 99, False, 0.0)),
]


def test_measures_gains_and_slopes_by_hand() -> None:
    found = describe_probes(PROBES, REWARD, seed=1)
    assert found is not None
    assert found["steps"] == [0, 8] and (found["samples"], found["declarations"]) == (4, 2)
    assert found["means"]["reward"] == [0.0, 0.375]
    assert found["means"]["consistent"] == [0.25, 0.75]  # a failed judge and an empty query are not consistent
    assert found["means"]["hard_and_consistent"] == [0.0, 0.5]
    assert found["gained"]["reward"]["value"] == pytest.approx(0.375)
    assert (found["gained"]["reward"]["low"], found["gained"]["reward"]["high"]) == pytest.approx((0.25, 0.5))
    assert found["slope"]["reward"]["value"] == pytest.approx(0.375 / 8)
    assert found["log2_rank"][0]["value"] == 0.0
    assert found["log2_rank"][1]["value"] == pytest.approx((2 + 0 + math.log2(16)) / 3)


def test_one_probe_says_nothing_about_training() -> None:
    assert describe_probes(PROBES[:1], REWARD, seed=1) is None
    assert describe_probes([], REWARD, seed=1) is None
    assert probe_table({"generators": [{"arm": "r1", "probes": None}]}) is None


def test_the_table_has_a_cell_under_every_head() -> None:
    none = [probe(step, ("a", 3, False, 0.0)) for step in (0, 8)]  # no consistent query at all
    rows = [{"arm": name, "probes": describe_probes(it, REWARD, 1)} for name, it in (("r1", PROBES), ("r2", none))]
    table = probe_table({"generators": rows})
    assert table is not None
    assert [len(row) for row in table.rows] == [len(table.header)] * 2
    assert table.rows[0][:3] == ["r1", "0.000 → 0.375", "+0.375 [+0.250, +0.500]"]
