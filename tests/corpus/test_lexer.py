"""Guards the first pass: comments and strings vanish, offsets stay, nothing hangs.

Run: pytest tests/corpus/test_lexer.py"""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from lean_finder.corpus.lexer import UNCLOSED_COMMENT, UNCLOSED_STRING, read_source
from lean_finder.corpus.parse import parse_file

PIECES = st.sampled_from(
    [
        "/-",
        "-/",
        "/--",
        "--",
        '"',
        '\\"',
        "«",
        "»",
        "'\"'",
        'r#"',
        '"#',
        "theorem x : 1 = 1 := rfl",
        "\n",
        "\n\n",
        " ",
        "(",
        ")",
        "[",
        "]",
        "@[simp",
        "where",
        "| a",
        ":=",
        "end",
        "namespace N",
        "section",
        "variable (x",
        "in",
        "∀",
        "λ",
        "\u00ad",
        "\u2028",
    ]
)


@given(st.lists(PIECES, max_size=60).map("".join))
@settings(max_examples=300, deadline=None)
def test_offsets_lines_and_lengths_stay(text: str) -> None:
    source = read_source(text)
    assert len(source.code) == len(source.mask) == len(source.text)
    assert source.mask.count("\n") == source.code.count("\n") == source.text.count("\n")
    assert all(ours in (theirs, " ") for ours, theirs in zip(source.mask, source.text, strict=True))


@given(st.lists(PIECES.filter(lambda piece: piece not in {"/-", "/--", "-/"}), max_size=30).map("".join))
@settings(max_examples=300, deadline=None)
def test_a_malformed_command_loses_no_declaration_after_it(rubbish: str) -> None:
    text = f"theorem first : a := b\n\ndef bad {rubbish}\n\ntheorem last (n : Nat) : n = n := rfl\n"
    names = {item.name.rsplit(".", 1)[-1] for item in parse_file(text, "M", "M.lean").declarations}
    assert {"first", "last"} <= names


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_text_is_parsed_without_an_exception(text: str) -> None:
    parse_file(text, "M", "M.lean")


def test_comments_nest_and_strings_hide_comment_marks() -> None:
    source = read_source('a /- b /- c -/ d -/ e "-- no comment /-" f -- g\nh')
    assert source.mask.split() == ["a", "e", "f", "h"]
    assert '"-- no comment /-"' in source.code
    assert source.problems == []


def test_a_quote_character_opens_no_string() -> None:
    source = read_source("def q := '\"'\ndef r := '\\\"'\ntheorem t : True := trivial\n")
    assert "theorem t" in source.mask
    assert source.problems == []


def test_raw_strings_end_at_their_own_mark() -> None:
    source = read_source('def a := r#"x " -- y"# ++ z\n')
    assert source.mask.endswith("++ z\n")
    assert "-- y" not in source.mask


def test_doc_comments_keep_their_text() -> None:
    source = read_source("/-- Sum of\n    two. /- inner -/ -/\ntheorem t : True := trivial")
    assert source.doc_before(source.mask.index("theorem")) == "Sum of\ntwo. /- inner -/"


def test_unclosed_marks_are_reported_with_their_place() -> None:
    assert [reason for _, reason in read_source("a\n/- b\n").problems] == [UNCLOSED_COMMENT]
    source = read_source('theorem a : s = "x := y\n\ntheorem b : True := trivial\n')
    assert [(source.line(at), reason) for at, reason in source.problems] == [(1, UNCLOSED_STRING)]
    assert "theorem b" in source.mask


def test_five_thousand_comment_openers_take_linear_time() -> None:
    start = time.process_time()
    source = read_source("theorem a : True := trivial\n" + "/-" * 5000)
    assert [reason for _, reason in source.problems] == [UNCLOSED_COMMENT]
    assert time.process_time() - start < 1.0


def test_byte_order_mark_and_windows_line_ends_are_dropped() -> None:
    source = read_source("\ufeffa\r\nb\r\n")
    assert source.text == "a\nb\n"
    assert source.line(2) == 2
