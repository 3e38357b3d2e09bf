"""The report, the judge and the traps that they must not fall into. Just this file: pytest tests/audit/test_run.py"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lean_finder.audit.checks.base import Check
from lean_finder.audit.filter import drop_leaks
from lean_finder.audit.inputs import AuditInputs, AuditSettings, TrainingSet, empty_frame
from lean_finder.audit.judge import LISTED_WHOLE, Judge, evidence_frame
from lean_finder.audit.run import run_audit, write_reports
from lean_finder.errors import InputError
from lean_finder.records import BenchmarkQuery, columns
from tests.audit.world import OTHER, QUERIES, STRETCH, THIRD, WIDTH, encode, make_inputs

_CHECK = Check("leak", "a", "critical", "Nothing may leak.", lambda case: {})


def _one_set(frame: pd.DataFrame, role: str = "retriever_pairs") -> AuditInputs:
    return replace(make_inputs(only=["r0"]), sets=[TrainingSet("mine", role, frame, "mine.jsonl")])


def _checks(inputs: AuditInputs) -> set[str]:
    return set(run_audit(inputs).findings["check"])


def test_empty_set_does_not_pass() -> None:
    report = run_audit(_one_set(empty_frame(("query", "declaration"))))
    assert not report.passed
    assert report.findings[["check", "row"]].values.tolist() == [["empty_set", 0]]


def test_empty_held_out_list_is_refused() -> None:
    with pytest.raises(InputError, match="empty benchmark proves nothing"):
        replace(make_inputs(only=["r0"]), benchmark=empty_frame(columns(BenchmarkQuery)))


def test_blank_gold_is_refused() -> None:
    inputs = make_inputs(only=["r0"])
    with pytest.raises(InputError, match="benchmark row 2: no gold"):
        replace(inputs, benchmark=inputs.benchmark.assign(gold=[STRETCH, " ", *["x"] * (len(QUERIES) - 2)]))


def test_name_with_a_trailing_space_does_not_pass() -> None:
    assert "test_target" in _checks(_one_set(pd.DataFrame({"query": ["a b c"], "declaration": [WIDTH + " "]})))


def test_missing_column_is_one_clear_error() -> None:
    with pytest.raises(InputError, match=r"no column to audit \(it has: text"):
        _one_set(pd.DataFrame({"text": ["x"]}))


@pytest.mark.parametrize("cell", [3, 2.5, {"a": 1}, [1, 2]])
def test_wrong_type_names_the_row(cell: object) -> None:
    frame = pd.DataFrame({"query": ["a b", "c d"], "declaration": [OTHER, cell]}, dtype=object)
    with pytest.raises(InputError, match=r"mine\.jsonl row 2: column 'declaration' holds"):
        run_audit(_one_set(frame))


def test_row_numbers_are_the_index_plus_one() -> None:
    frame = pd.DataFrame({"query": ["a b", "c d"], "declaration": [OTHER, WIDTH]}, index=[3, 40])
    found = run_audit(_one_set(frame)).findings
    assert found[found["check"] == "test_target"]["row"].tolist() == [41]


def test_a_primed_theorem_is_another_one() -> None:
    inputs = make_inputs(only=["r0"])
    primed = inputs.declarations[inputs.declarations["name"] == WIDTH].assign(name=f"{WIDTH}'", signature=": other")
    row = inputs.manifest[inputs.manifest["declaration"] == OTHER].assign(declaration=f"{WIDTH}'", family=f"{WIDTH}'")
    frame = pd.DataFrame({"query": ["a b", "c d"], "declaration": [f"{WIDTH}'", WIDTH]})
    both = replace(
        inputs,
        declarations=pd.concat([inputs.declarations, primed], ignore_index=True),
        manifest=pd.concat([inputs.manifest, row], ignore_index=True),
        sets=[TrainingSet("mine", "retriever_pairs", frame, "mine.jsonl")],
        expected=None,
    )
    found = run_audit(both).findings
    assert found[found["check"] == "test_target"]["row"].tolist() == [2]
    # The other way round: the primed one is the gold.
    swapped = replace(both, benchmark=both.benchmark.assign(gold=both.benchmark["gold"].replace(WIDTH, f"{WIDTH}'")))
    found = run_audit(swapped).findings
    assert found[found["check"] == "test_target"]["row"].tolist() == [1]


def test_judge_fails_closed_without_a_column() -> None:
    frame = evidence_frame([1], ["q"], ["d"], {})
    with pytest.raises(RuntimeError, match="leak"):
        Judge().verdict("set", frame, [_CHECK])


def test_judge_fails_closed_on_a_malformed_table() -> None:
    frame = evidence_frame([1], ["q"], ["d"], {"leak": {}}).assign(query=[None, "q"])
    with pytest.raises(RuntimeError, match="malformed"):
        Judge().verdict("set", frame, [_CHECK])


def test_judge_takes_evidence_for_a_finding() -> None:
    frame = evidence_frame([7, 9], ["q", "r"], ["d", "e"], {"leak": {1: "seen", -1: "whole"}})
    assert Judge().verdict("set", frame, [_CHECK]) == {"leak": [(0, "whole"), (9, "seen")]}


def test_of_many_rows_the_judge_sees_those_with_evidence_and_a_count() -> None:
    size = LISTED_WHOLE + 1
    numbers = [row + 1 for row in range(size)]
    found = {"leak": {size - 1: "seen"}, "other": {4: "too", -1: "whole"}}
    frame = evidence_frame(numbers, ["q"] * size, ["d"] * size, found)
    assert frame["row"].tolist() == [0, 5, size]
    assert "19,999 of its 20,001 rows carry no evidence" in frame["query"][0]
    other = replace(_CHECK, name="other")
    assert Judge().verdict("set", frame, [_CHECK, other]) == {
        "leak": [(size, "seen")],
        "other": [(0, "whole"), (5, "too")],
    }
    clean = evidence_frame(numbers, ["q"] * size, ["d"] * size, {"leak": {}})
    assert len(clean) == 1
    assert Judge().verdict("set", clean, [_CHECK]) == {}


def test_only_the_named_checks_run_and_the_report_says_so() -> None:
    inputs = make_inputs([("r0", {"declaration": WIDTH})], only=["r0", "sft"])
    report = run_audit(inputs, encode=encode, only=frozenset({"query_meaning"}))
    assert list(report.checks) == ["query_meaning"]
    assert report.not_checked == ["everything but query_meaning"]


def test_a_capped_check_of_meaning_says_what_it_did_not_read() -> None:
    inputs = make_inputs(only=["r0", "sft"])
    capped = replace(inputs, settings=replace(inputs.settings, meaning_texts=3))
    report = run_audit(capped, encode=encode)
    assert report.meaning["r0"].encoded_texts == 3
    assert report.meaning["r0"].distinct_texts == 5
    assert "query_meaning: 2 of 5 texts of r0" in report.not_checked
    assert not [note for note in run_audit(inputs, encode=encode).not_checked if "texts of" in note]


def test_a_list_of_targets_on_both_sides_is_a_crossing() -> None:
    frame = pd.DataFrame({"query": ["one of them", "another"], "declaration": [[OTHER, WIDTH, THIRD], [OTHER, THIRD]]})
    found = run_audit(_one_set(frame)).findings
    assert found[found["check"] == "split_query"]["row"].tolist() == [1]
    assert found[found["check"] == "test_target"]["row"].tolist() == [1]


def test_whole_set_warnings() -> None:
    frame = pd.DataFrame(
        {
            "query": [f"{'very ' * 40}long query about {word}" for word in "abcdefghijklmnopqrstuvwxyz"],
            "declaration": OTHER,
            "style": ["slogan"] * 25 + ["natural"],
        }
    )
    inputs = replace(_one_set(frame, "generator_sft"), real_lengths=pd.DataFrame({"words": [5, 8, 11]}))
    report = run_audit(inputs)
    assert report.passed
    assert report.findings[["check", "row"]].values.tolist() == [["query_length", 0], ["style_share", 0]]


@pytest.mark.parametrize(
    ("queries", "evidence"),
    [
        ([f"$x_{{{word}}} \\le y$ every z" for word in "abcdefgh"], "0.00 in length, 1.00 in kind"),
        ([f"the claim about {word} that nobody would type in so many words" for word in "abcdefgh"], "1.00 in length"),
        ([f"claims about {word} and others" for word in "abcdefgh"], None),
    ],
    ids=["other kinds", "other lengths", "alike"],
)
def test_generated_queries_unlike_real_ones_are_shown(queries: list[str], evidence: str | None) -> None:
    frame = pd.DataFrame({"query": queries, "declaration": OTHER})
    real = tuple(f"sums over {word} and more" for word in "abcdefgh")
    inputs = replace(_one_set(frame, "generated_queries"), real_queries=real)
    report = run_audit(inputs, only=frozenset({"style_distance"}))
    found = report.findings
    assert report.passed and len(found) == (evidence is not None)
    if evidence is not None:
        assert evidence in found["evidence"].iloc[0]


def test_report_is_deterministic_and_free_of_times(tmp_path: Path) -> None:
    inputs = make_inputs([("r0", {"declaration": WIDTH})], only=["r0", "sft"])
    texts = []
    for name in ("one", "two"):
        write_reports(run_audit(inputs, encode=encode), tmp_path / f"{name}.json")
        texts.append((tmp_path / f"{name}.json").read_text())
    assert texts[0] == texts[1]
    assert not re.search(r"\d{4}-\d{2}-\d{2}|\d\d:\d\d", texts[0])
    report = json.loads(texts[0])
    assert report["passed"] is False
    assert report["checks"]["test_target"]["findings"] == {"r0": 1, "sft": 0}
    assert report["findings"][0]["path"] == "r0.parquet"
    assert report["meaning"]["r0"]["compared_pairs"] == report["meaning"]["r0"]["encoded_texts"] * len(QUERIES)


def test_data_docs_show_the_offending_row(tmp_path: Path) -> None:
    inputs = make_inputs([("r0", {"declaration": WIDTH, "query": "planted beyond doubt"})], only=["r0"])
    write_reports(run_audit(inputs), tmp_path / "a.json", tmp_path / "docs")
    pages = [page.read_text() for page in (tmp_path / "docs").rglob("validations/**/*.html")]
    shown = [page for page in pages if "planted beyond doubt" in page]
    assert len(shown) == 1
    assert "No test theorem may be named in training data" in shown[0]
    assert (tmp_path / "docs" / "index.html").is_file()


def test_what_was_not_checked_is_said() -> None:
    inputs = replace(make_inputs(only=["r0"]), expected=None)
    report = run_audit(inputs, without=frozenset({"blank"}))
    assert [note.split(":")[0] for note in report.not_checked] == [
        "blank",
        "query_meaning",
        "provenance",
        "query_length",
        "style_distance",
    ]
    assert "blank" not in report.counts


def test_filter_leaves_nothing_for_the_audit() -> None:
    frame = pd.DataFrame(
        {
            "query": ["a clean question", QUERIES["T5"][0].upper(), "another clean one", "hidden target"],
            "declaration": [OTHER, OTHER, THIRD, WIDTH],
        },
        index=[10, 11, 12, 13],
    )
    inputs = make_inputs(only=["r0"])
    kept, dropped = drop_leaks(frame, inputs)
    assert kept.index.tolist() == [10, 12]
    assert dropped[["check"]].to_dict()["check"] == {11: "query_text", 13: "test_target"}
    assert dropped["evidence"].str.len().gt(10).all()
    sets = [TrainingSet("kept", "retriever_pairs", kept, "kept")]
    assert run_audit(replace(inputs, sets=sets, expected=None)).passed


def test_filter_of_nothing_to_drop_keeps_the_frame() -> None:
    frame = pd.DataFrame({"query": ["a clean question"], "declaration": [OTHER]})
    kept, dropped = drop_leaks(frame, make_inputs(only=["r0"]))
    pd.testing.assert_frame_equal(kept, frame)
    assert dropped.empty


def test_meaning_threshold_holds_its_false_alarm_rate() -> None:
    """Random vectors are unrelated: the share above the threshold must be the one asked for."""
    rng = np.random.default_rng(0)
    words = {text: rng.normal(size=8) for text in (f"text number {place}" for place in range(400))}

    def random_encode(texts: list[str]) -> np.ndarray:
        vectors = np.array([words.get(text, np.ones(8)) for text in texts])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    frame = pd.DataFrame({"query": list(words), "declaration": [OTHER, THIRD] * 200})
    settings = AuditSettings(meaning_false_alarms=1e-3, meaning_least=0.0, meaning_sample=200_000)
    report = run_audit(replace(_one_set(frame), settings=settings), encode=random_encode)
    assert report.meaning["mine"].false_alarm_rate == pytest.approx(1e-3, rel=0.05)
    assert report.meaning["mine"].encoded_texts == 400


def test_two_sets_of_one_name_are_refused() -> None:
    one = make_inputs(only=["r0"]).sets[0]
    with pytest.raises(InputError, match="two sets share the name 'r0'"):
        replace(make_inputs(only=["r0"]), sets=[one, one])
