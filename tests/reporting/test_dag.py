"""Guards the picture of the pipeline: other arms out, implied edges out, no stage lost.

Run: pytest tests/reporting/test_dag.py
"""

from __future__ import annotations

import pytest

from lean_finder.errors import InputError
from lean_finder.reporting.dag import folded, main_line, mermaid, parse, reduced

PRINTED = """```mermaid
flowchart TD
\tnode1["data.dvc"]
\tnode2["train@r0"]
\tnode3["train@r1"]
\tnode4["train@r1_difficulty"]
\tnode5["report"]
\tnode1-->node2
\tnode1-->node3
\tnode1-->node5
\tnode2-->node3
\tnode2-->node4
\tnode2-->node5
\tnode3-->node5
\tnode4-->node5
```
"""


def test_parse_reads_what_dvc_prints() -> None:
    graph = parse(PRINTED)
    assert graph["data.dvc"] == {"train@r0", "train@r1", "report"}
    assert graph["report"] == set()


def test_main_line_reduced_keeps_order_with_fewest_edges() -> None:
    graph = reduced(main_line(parse(PRINTED), ["r0", "r1"]))
    assert graph == {"data.dvc": {"train@r0"}, "train@r0": {"train@r1"}, "train@r1": {"report"}, "report": set()}


def test_mermaid_is_readable_by_itself_and_stable() -> None:
    text = mermaid(reduced(parse(PRINTED)))
    assert parse(text) == reduced(parse(PRINTED))
    assert text == mermaid(dict(reversed(reduced(parse(PRINTED)).items())))


def test_folded_shows_each_stage_once_and_the_step_into_the_next_round() -> None:
    graph, onward = folded(reduced(main_line(parse(PRINTED), ["r0", "r1"])))
    assert graph == {"data.dvc": {"train@…"}, "train@…": {"report"}, "report": set()}
    assert onward == {("train@…", "train@…")}
    assert "n2 -. next round .-> n2" in mermaid(graph, onward)


def test_unknown_text_is_refused() -> None:
    with pytest.raises(InputError, match="not understood"):
        parse("digraph {}")
