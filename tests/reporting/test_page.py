"""Guards the page: one file that asks the network for nothing, shows every section, and survives missing files.

Run: pytest tests/reporting/test_page.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from lean_finder.reporting.page import render_page
from lean_finder.reporting.results import build_results
from lean_finder.storage import read_table, write_table
from tests.reporting.result_tree import Tree

SECTIONS = (
    "results",
    "gains",
    "styles",
    "paper",
    "training",
    "queries",
    "examples",
    "judge",
    "audit",
    "runs",
    "params",
)


class Reader(HTMLParser):
    """Ids, links and embedded figures; scripts' own text is not read as HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.figures: dict[str, str] = {}
        self.open: list[str] = []
        self.text: list[str] = []
        self._figure = ""
        self.style = ""
        self._raw = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids.add(given.get("id") or "")
        self.targets += [value for key in ("href", "src") if (value := given.get(key))]
        self._figure = given.get("data-figure") or ""
        self._raw = tag if tag in ("script", "style") else ""
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes nothing"
        self._figure, self._raw = "", ""

    def handle_data(self, data: str) -> None:
        if self._figure:
            self.figures[self._figure] = data
        elif self._raw == "style":
            self.style += data
        elif not self._raw:
            self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def render(tree: Tree, **changes: object) -> str:
    study = tree.study(**changes)
    return render_page(study, build_results(study), tree.root)


@pytest.fixture(scope="module")
def page(tree: Tree) -> Reader:
    return read(render(tree))


def test_page_has_every_section_and_needs_no_other_file(page: Reader) -> None:
    assert set(SECTIONS) <= page.ids
    outside = [target for target in page.targets if not target.startswith(("#", "data:,", "docs/"))]
    assert outside == []
    assert {target[1:] for target in page.targets if target.startswith("#")} <= page.ids
    assert "@import" not in page.style and "url(" not in page.style


def test_every_figure_is_whole_and_has_its_place(page: Reader) -> None:
    wanted = {"score-embedded", "gain-embedded", "retriever-loss", "supervised-loss", "grpo-reward", "grpo-sft_weight"}
    assert wanted | {"grpo-entropy", "rank-bands", "rank-bins", "lengths", "judge-thresholds"} <= set(page.figures)
    assert set(page.figures) <= page.ids
    for name, text in page.figures.items():
        figure = json.loads(text)
        assert figure["data"], name
        assert all(trace.get("x") or trace.get("y") for trace in figure["data"]), name


def test_page_says_what_was_run_when_and_with_what(page: Reader) -> None:
    text = " ".join(page.text)
    for words in ("2026-01-02 03:04:05", "1 min 15 s", "abcdef0123", "with changes", "retriever.margin", "1,500"):
        assert words in text
    assert "docs/r1/index.html" in page.targets


def test_text_of_queries_is_escaped(page: Reader) -> None:
    assert any("words about <fact>" in text for text in page.text)


def test_a_query_cannot_leave_its_figure_or_table(own_tree: Callable[[], Tree]) -> None:
    tree = own_tree()
    path = tree.files("r1").queries
    assert path
    frame = read_table(path)
    frame["query"] = "</script><script>alert(1)</script>"
    write_table(path, frame)
    reader = read(render(tree))
    assert "</script><script>alert(1)</script>" in reader.text


def test_missing_files_leave_labelled_gaps(own_tree: Callable[[], Tree]) -> None:
    tree = own_tree()
    for name in ("r1", "r2", "r1_difficulty", "odd"):
        files = tree.files(name)
        assert files.generator and files.queries and files.dropped and files.audit
        (files.generator / "history.json").unlink()
        for path in (files.queries, files.dropped, files.audit):
            path.unlink()
    tree.files("r2").metrics.unlink()
    text = " ".join(read(render(tree, runs=[], judge=tree.root / "nowhere.json")).text)
    for words in ("history missing", "not evaluated", "Not measured", "Times are missing", "nowhere.json is missing"):
        assert words in text
    assert "No queries of this arm were found" in text


def test_untrained_study_still_makes_a_page(tree: Tree) -> None:
    text = " ".join(read(render(tree, runs=[])).text)
    assert "Times are missing" in text
    study = tree.study(("bm25", "base"))
    alone = read(render_page(study, build_results(study), tree.root))
    assert "No arm was compared" in " ".join(alone.text)
    assert "retriever-loss" not in alone.figures
