"""jixia's JSON becomes records and loses no structure or class. Run: pytest tests/corpus/importers/test_jixia.py"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lean_finder.corpus.importers import Imported, import_corpus
from lean_finder.errors import InputError
from lean_finder.records import Declaration


def by_name(imported: Imported) -> dict[str, Declaration]:
    return {item.name: item for item in imported.declarations}


@pytest.mark.parametrize("compressed", [False, True])
def test_kinds_are_told_apart(write_jixia: Callable[..., Path], compressed: bool) -> None:
    found = by_name(import_corpus(write_jixia(compressed=compressed)))
    assert {name: item.kind for name, item in found.items()} == {
        "Demo.Magma": "class",
        "Demo.Magma.mk": "constructor",
        "Demo.Magma.op": "field",
        "Demo.Pair": "structure",
        "Demo.Pair.mk": "constructor",
        "Demo.Pair.toOne": "projection",
        "Demo.Pair.snd": "field",
        "Demo.Colour": "inductive",
        "Demo.Colour.red": "constructor",
        "Demo.Covered": "class",
        "Demo.op_self": "theorem",
        "Demo.eq_of_op": "theorem",
        "Demo.instMagmaNat": "instance",
        "Demo.noPrinted": "theorem",
    }


def test_a_command_gives_its_texts_and_its_line(write_jixia: Callable[..., Path]) -> None:
    found = by_name(import_corpus(write_jixia()))
    assert found["Demo.op_self"] == Declaration(
        name="Demo.op_self",
        kind="theorem",
        module="Demo.Basic",
        line=15,
        signature="{α : Type u} [inst : Demo.Magma α] (a : α) : Demo.Magma.op a a = a",
        attributes=("simp",),
        namespace="Demo",
    )
    assert found["Demo.Magma"].docstring == "A set with one operation."
    assert found["Demo.Pair"].docstring == "Two things."
    assert found["Demo.instMagmaNat"].is_instance
    assert found["Demo.Pair.snd"].generated_by == "Demo.Pair"
    assert found["Demo.noPrinted"].signature == "(n : Nat) : n = n"


def test_without_the_lean_file_lines_are_unknown(write_jixia: Callable[..., Path]) -> None:
    assert {item.line for item in import_corpus(write_jixia(lean=False)).declarations} == {0}


def test_what_is_left_out_is_counted_with_its_reason(write_jixia: Callable[..., Path]) -> None:
    imported = import_corpus(write_jixia())
    assert imported.counts == {
        "internal: made by Lean": 2,
        "internal: notation or syntax": 1,
        "internal: recursor or constructor lemma": 2,
        "no declaration: recursor": 1,
        "private": 1,
    }
    assert ("private", "_private.Demo.Basic.0.Demo.helper") in {(x.reason, x.name) for x in imported.problems}


def test_without_commands_types_alone_tell_kinds_apart(write_jixia: Callable[..., Path]) -> None:
    imported = import_corpus(write_jixia(commands=None))
    kinds = {name: item.kind for name, item in by_name(imported).items()}
    assert kinds["Demo.Magma"] == "class"
    assert kinds["Demo.Pair"] == "structure"
    assert kinds["Demo.Colour"] == "inductive"
    assert kinds["Demo.Pair.toOne"] == "projection"
    assert imported.counts["no .decl.json: keywords, docstrings and attributes are unknown"] == 1


def test_a_class_without_printed_command_is_known_by_its_use(
    write_jixia: Callable[..., Path], jixia_commands: list[dict[str, Any]]
) -> None:
    del jixia_commands[0]["ref"]["pp"]
    assert by_name(import_corpus(write_jixia(commands=jixia_commands)))["Demo.Magma"].kind == "class"


def test_older_output_is_read(write_jixia: Callable[..., Path]) -> None:
    older = {"kind": "def", "name": ["Demo", "two"], "type": "ℕ", "isProp": False}
    found = import_corpus(write_jixia(symbols=[older], commands=None)).declarations
    assert [(item.name, item.kind, item.signature) for item in found] == [("Demo.two", "def", ": ℕ")]


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        ("sym", b'[{"kind": "theorem", "name": ["a"', r"Basic\.sym\.json:1: the JSON ends too early"),
        ("sym", b"", r"Basic\.sym\.json: the file is empty"),
        ("sym", b'{"declarations": {}}', r"Basic\.sym\.json: expected a JSON list of objects"),
        ("sym", b'[{"kind": "theorem"}]', r"Basic\.sym\.json\[1\]: missing key 'name'"),
        ("sym", b'[{"name": ["a"], "kind": "riddle"}]', r"Basic\.sym\.json\[1\]: unknown kind 'riddle'"),
        ("sym", b'[{"name": "\xe9"}]', r"Basic\.sym\.json: not UTF-8 \(byte 11\)"),
        ("sym", b'[{"name": [], "kind": "theorem"}]', r"Basic\.sym\.json\[1\]: not a Lean name"),
        ("decl", b'[{"name": "a.b", "kind": "theorem"}]', r"Basic\.decl\.json\[1\]: 'name' is 'a\.b', expected a list"),
        ("decl", b"[1]", r"Basic\.decl\.json\[1\]: expected a JSON object"),
    ],
)
def test_bad_input_is_named(write_jixia: Callable[..., Path], file: str, content: bytes, complaint: str) -> None:
    folder = write_jixia()
    (folder / "Demo" / f"Basic.{file}.json").write_bytes(content)
    with pytest.raises(InputError, match=complaint):
        import_corpus(folder)


def test_a_cut_gzip_file_is_named(write_jixia: Callable[..., Path]) -> None:
    folder = write_jixia(compressed=True)
    file = folder / "Demo" / "Basic.sym.json.gz"
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"sym\.json\.gz: the gzip data is cut off"):
        import_corpus(folder)
