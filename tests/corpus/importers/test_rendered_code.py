"""doc-gen4's binary code blobs read whole or fail. Run: pytest tests/corpus/importers/test_rendered_code.py"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lean_finder.corpus.importers.rendered_code import BadBlobError, rendered_text


def test_text_tags_and_names_with_numbers(rendered: Callable[..., bytes]) -> None:
    blob = rendered("∀ n, ", ("_private.A.0.f", "f"), " n", "x" * 300)
    assert rendered_text(blob) == "∀ n, f n" + "x" * 300


def test_deep_nesting_needs_no_recursion() -> None:
    depth = 20_000
    assert rendered_text(b"\2\1" * depth + b"\0\1a") == "a"


def test_every_cut_blob_fails(rendered: Callable[..., bytes]) -> None:
    blob = rendered("∀ n, ", ("A.0.f", "f"))
    for end in range(len(blob)):
        with pytest.raises(BadBlobError):
            rendered_text(blob[:end])


@pytest.mark.parametrize("blob", [b"\3", b"\1\x08\0\0", b"\1\2\3\0\0", b"\0\1\xff", b"\0\0\0"])
def test_foreign_bytes_fail(blob: bytes) -> None:
    with pytest.raises(BadBlobError):
        rendered_text(blob)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.text() | st.tuples(st.just("A.b.3"), st.text()), max_size=6))
def test_any_text_comes_back(rendered: Callable[..., bytes], pieces: list[str | tuple[str, str]]) -> None:
    expected = "".join(piece if isinstance(piece, str) else piece[1] for piece in pieces)
    assert rendered_text(rendered(*pieces)) == expected
