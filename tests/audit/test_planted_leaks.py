"""Every planted leak is caught and its row named. Just this file: pytest tests/audit/test_planted_leaks.py

All rows are planted into one world and audited at once; the plants do not touch one another.
"""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest

from lean_finder.audit.checks.catalogue import all_checks
from lean_finder.audit.inputs import AuditSettings
from lean_finder.audit.run import AuditReport, run_audit
from tests.audit.plants import BEGIN, DOCS, END, MANIFEST_PLANTS, PLANTS, ManifestPlant, Plant, table
from tests.audit.world import SETS, clean_rows, encode, make_inputs

_ROW_CHECKS = sorted({item.check for item in PLANTS if item.expected != "missed"})


def _numbers() -> list[int]:
    """Row number of each plant in its set."""
    placed = Counter({name: len(clean_rows(name)) for name in SETS})
    numbers = []
    for plant in PLANTS:
        placed[plant.into] += 1
        numbers.append(placed[plant.into])
        placed.update(name for name, _ in plant.company)
    return numbers


def _extra() -> list[tuple[str, dict]]:
    rows = []
    for plant in PLANTS:
        rows.append((plant.into, dict(plant.cells)))
        rows.extend((name, dict(cells)) for name, cells in plant.company)
    return rows


@pytest.fixture(scope="module")
def report() -> AuditReport:
    return run_audit(make_inputs(_extra()), encode=encode)


def _found(report: AuditReport, plant: Plant, number: int) -> pd.DataFrame:
    found = report.findings
    return found[(found["set"] == plant.into) & (found["row"] == number) & (found["check"] == plant.check)]


@pytest.mark.parametrize(
    ("plant", "number"),
    zip(PLANTS, _numbers(), strict=True),
    ids=[f"{plant.kind} {plant.disguise}" for plant in PLANTS],
)
def test_plant(report: AuditReport, plant: Plant, number: int) -> None:
    found = _found(report, plant, number)
    if plant.expected == "missed":
        assert found.empty, "this leak is caught now: say so in the table"
    else:
        assert found["severity"].tolist() == [plant.expected]
        assert found["path"].tolist() == [f"{plant.into}.parquet"]
        assert found["evidence"].str.len().gt(10).all()


@pytest.mark.parametrize("plant", MANIFEST_PLANTS, ids=[plant.disguise for plant in MANIFEST_PLANTS])
def test_swapped_split_labels(plant: ManifestPlant) -> None:
    inputs = make_inputs(splits=plant.splits, only=["r0"])
    report = run_audit(inputs)
    named = report.findings[(report.findings["check"] == "manifest") & (report.findings["declaration"] == plant.row)]
    assert not report.passed
    assert named["row"].tolist() == [inputs.manifest["declaration"].tolist().index(plant.row) + 1]


def test_clean_world_has_no_finding() -> None:
    report = run_audit(make_inputs(), encode=encode)
    assert report.findings.to_dict("records") == []
    assert report.passed


def test_twelve_kinds_of_five_disguises() -> None:
    disguises = Counter(plant.kind for plant in PLANTS if plant.expected != "missed")
    assert sum(count >= 5 for count in disguises.values()) >= 12
    assert len(MANIFEST_PLANTS) >= 5


@pytest.mark.parametrize("check", _ROW_CHECKS)
def test_no_check_can_be_removed(check: str) -> None:
    """The audit with one check disabled, on that check's first plant: what `test_plant` asserts no longer holds."""
    plant = next(plant for plant in PLANTS if plant.check == check and plant.expected != "missed")
    extra = [(plant.into, dict(plant.cells)), *((name, dict(cells)) for name, cells in plant.company)]
    inputs = make_inputs(extra, only=[plant.into, *(name for name, _ in plant.company)])
    number = len(clean_rows(plant.into)) + 1
    report = run_audit(inputs, encode=encode, without=frozenset({check}))
    assert _found(report, plant, number)["severity"].tolist() != [plant.expected]
    assert f"{check}: left out on request" in report.not_checked


def test_every_check_has_a_plant() -> None:
    """Those of a whole set are tested in test_run.py, the manifest above; every other one has rows here."""
    whole_set = {"empty_set", "query_length", "style_share", "style_distance"}
    names = {check.name for check in all_checks(AuditSettings())} | {"query_meaning"}
    assert names - whole_set == set(_ROW_CHECKS)


def test_table_in_the_documentation_is_current() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert text.split(BEGIN)[1].split(END)[0].strip() == table(), "run: python -m tests.audit.plants"
