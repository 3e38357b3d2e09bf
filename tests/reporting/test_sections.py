"""Guards that generated sections are replaced and nothing else is.

Run: pytest tests/reporting/test_sections.py
"""

from __future__ import annotations

import pytest

from lean_finder.errors import InputError
from lean_finder.reporting.sections import refresh

TEXT = "# T\n\n<!-- generated: a -->\nold\n<!-- end -->\n\nkept\n\n<!-- generated: b -->\n<!-- end -->\n"
WRITERS = {"a": lambda: "new \\1 a\n", "b": lambda: "new b", "c": lambda: pytest.fail("c is not in the text")}


def test_sections_are_written_and_the_rest_is_kept() -> None:
    new = refresh(TEXT, WRITERS, "README.md")
    assert new == (
        "# T\n\n<!-- generated: a -->\n\nnew \\1 a\n\n<!-- end -->\n\nkept\n\n"
        "<!-- generated: b -->\n\nnew b\n\n<!-- end -->\n"
    )
    assert refresh(new, WRITERS, "README.md") == new


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("# nothing", "no generated section", id="none"),
        pytest.param(TEXT.replace("generated: b", "generated: z"), "unknown section 'z'", id="unknown"),
        pytest.param(TEXT.replace("<!-- end -->", "", 1), "has no end", id="first one open"),
        pytest.param("<!-- generated: a -->\n", "has no end", id="last one open"),
    ],
)
def test_broken_markers_are_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        refresh(text, WRITERS, "README.md")
