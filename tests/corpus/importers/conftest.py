"""A small library as each tool would write it: class, structure, inductive, their members, and what Lean adds."""

from __future__ import annotations

import copy
import gzip
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LEAN = """/-- A set with one operation. -/
class Demo.Magma (α : Type u) where
  op : α → α → α

/-- Two things. -/
structure Demo.Pair (α : Type u) extends Demo.One α where
  snd : α

inductive Demo.Colour
  | red

class inductive Demo.Covered (α : Type u) : Prop
  | intro : α → Covered α

@[simp] theorem Demo.op_self (a : α) : op a a = a := sorry

instance : Demo.Magma Nat := ⟨Nat.add⟩
"""


def _symbol(kind: str, name: str, readable: str | None, **more: Any) -> dict[str, Any]:
    parts = [int(part) if part.isdecimal() else part for part in name.split(".")]
    return {
        "kind": kind,
        "name": parts,
        "typeFull": readable,
        "typeReadable": readable,
        "typeFallback": "forall (x : #0)",
        "typeReferences": [],
        "valueReferences": None,
        "isProp": kind == "theorem",
    } | more


def _command(kind: str, name: str, at: str, signature: str, ref: str | None = None, **modifiers: Any) -> dict[str, Any]:
    start = LEAN.encode().index(at.encode())
    return {
        "kind": kind,
        "ref": {"original": True, "range": [start, start + 5]} | ({"pp": ref} if ref else {}),
        "id": {"original": True, "range": [start, start + len(at.encode())]},
        "name": name.split("."),
        "modifiers": {"visibility": "regular", "attrs": [], "isNoncomputable": False} | modifiers,
        "signature": {"original": True, "range": [start, start + 5], "pp": signature},
        "params": [],
        "type": None,
        "value": None,
        "scopeInfo": {
            "varDecls": ["variable {α : Type u}"],
            "includeVars": [],
            "omitVars": [],
            "levelNames": ["u"],
            "currNamespace": ["Demo"],
            "openDecl": [],
            "scopedOpenDecl": [],
        },
    }


SYMBOLS = [
    _symbol("inductive", "Demo.Magma", "Type u → Type u"),
    _symbol("constructor", "Demo.Magma.mk", "{α : Type u} → (α → α → α) → Demo.Magma α"),
    _symbol("definition", "Demo.Magma.op", "{α : Type u} → [self : Demo.Magma α] → α → α → α"),
    _symbol("inductive", "Demo.Pair", "Type u → Type u"),
    _symbol("constructor", "Demo.Pair.mk", "{α : Type u} → Demo.One α → α → Demo.Pair α"),
    _symbol("definition", "Demo.Pair.toOne", "{α : Type u} → Demo.Pair α → Demo.One α"),
    _symbol("definition", "Demo.Pair.snd", "{α : Type u} → Demo.Pair α → α"),
    _symbol("recursor", "Demo.Pair.rec", "{α : Type u} → Sort v"),
    _symbol("definition", "Demo.Pair.casesOn", "{α : Type u} → Demo.Pair α → Sort v"),
    _symbol("theorem", "Demo.Pair.mk.injEq", "∀ {α : Type u} (a b : α), a = b"),
    _symbol("inductive", "Demo.Colour", "Type"),
    _symbol("constructor", "Demo.Colour.red", "Demo.Colour"),
    _symbol("inductive", "Demo.Covered", "Type u → Prop"),
    _symbol("theorem", "Demo.op_self", "∀ {α : Type u} [inst : Demo.Magma α] (a : α), Demo.Magma.op a a = a"),
    _symbol("theorem", "Demo.eq_of_op", "∀ {α : Type u} [inst : Demo.Magma α] (a b : α), a = b"),
    _symbol("theorem", "Demo.op_self.eq_1", "True"),
    _symbol("theorem", "Demo.op_self._proof_2", "True"),
    _symbol("definition", "_private.Demo.Basic.0.Demo.helper", "ℕ"),
    _symbol("definition", "Demo.«term_⋆_»", "Lean.TrailingParserDescr"),
    _symbol("definition", "Demo.instMagmaNat", "Demo.Magma ℕ"),
    _symbol("theorem", "Demo.noPrinted", None),
]
COMMANDS = [
    _command(
        "structure",
        "Demo.Magma",
        "Demo.Magma (α",
        "(α : Type u)",
        "class Demo.Magma (α : Type u) where\n op : α",
        docString=["A set with one operation. ", False],
    ),
    _command("structure", "Demo.Pair", "Demo.Pair (α", "(α : Type u)", docString="Two things."),
    _command("inductive", "Demo.Colour", "Demo.Colour", "")
    | {"constructors": [_command("constructor", "Demo.Colour.red", "red", "")]},
    _command("classInductive", "Demo.Covered", "Demo.Covered (α", "(α : Type u) : Prop"),
    _command(
        "theorem",
        "Demo.op_self",
        "Demo.op_self",
        "(a : α) : op a a = a",
        attrs=[{"kind": "global", "name": ["simp"], "stx": [0, 4]}],
    ),
    _command("instance", "Demo.instMagmaNat", "instance : Demo", ": Demo.Magma Nat"),
    _command("theorem", "Demo.noPrinted", "op a a", "(n : Nat) : n = n"),
    _command("example", "Demo._example", "sorry", ": True"),
]


@pytest.fixture
def jixia_commands() -> list[dict[str, Any]]:
    """The rows of `Basic.decl.json`, to be changed at will."""
    return copy.deepcopy(COMMANDS)


@pytest.fixture
def write_jixia(tmp_path: Path) -> Callable[..., Path]:
    """Writes `Demo/Basic.*.json` as jixia does and gives the folder."""

    def write(*, symbols: Any = None, commands: Any = COMMANDS, lean: bool = True, compressed: bool = False) -> Path:
        folder = tmp_path / "raw" / "Demo"
        folder.mkdir(parents=True)
        written = {"sym": SYMBOLS if symbols is None else symbols, "mod": {"imports": [["Init"]], "docstring": []}}
        if commands is not None:
            written["decl"] = commands
        for plugin, value in written.items():
            data = json.dumps(value, ensure_ascii=False).encode()
            if compressed:
                (folder / f"Basic.{plugin}.json.gz").write_bytes(gzip.compress(data))
            else:
                (folder / f"Basic.{plugin}.json").write_bytes(data)
        if lean:
            (folder / "Basic.lean").write_text(LEAN, encoding="utf-8")
        return folder.parent

    return write


@pytest.fixture
def write_rows(tmp_path: Path) -> Callable[..., Path]:
    """Writes JSON lines, gzipped if the name ends in .gz."""

    def write(name: str, rows: list[dict[str, Any]]) -> Path:
        data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def _header(kind: str, name: str, arguments: list[tuple[str, bool]], type_: str, extends: str = "") -> str:
    """HTML with the elements and line breaks that doc-gen4 writes."""
    dotted = ".".join(f'<span class="name">{part}</span>' for part in name.split("."))
    pieces = [
        f'<span class="decl_kind">{kind}</span>\n',
        f'<span class="decl_name"><a class="break_within" href="./Demo/Basic.html#{name}">{dotted}</a></span>',
    ]
    for text, implicit in arguments:
        argument = f'<span class="decl_args">\n<span class="fn">{text}</span></span>\n'
        pieces.append(f'<span class="impl_arg">{argument}</span>' if implicit else argument)
    if extends:
        pieces.append(f'<span class="decl_extends">extends</span> <span id="Demo.Pair.toOne">{extends}</span>')
    pieces.append(f'<span class="decl_args"> :</span><div class="decl_type">{type_}</div>')
    return f'<div class="decl_header"> {"".join(pieces)} </div>'


def _declared(kind: str, name: str, line: int, header: str, doc: str = "") -> dict[str, Any]:
    link = f"./Demo/Basic.html#{name}"
    info = {"name": name, "kind": kind, "doc": doc, "docLink": link, "sourceLink": f"https://x/B.lean#L{line}"}
    return {"info": info | {"line": line}, "header": header}


MODULE = {
    "name": "Demo.Basic",
    "imports": ["Init"],
    "instances": [{"name": "Demo.instMagmaNat", "className": "Demo.Magma", "typeNames": ["Nat"]}],
    "declarations": [
        _declared("instance", "Demo.instMagmaNat", 19, _header("instance", "Demo.instMagmaNat", [], "Magma <a>ℕ</a>")),
        _declared(
            "theorem",
            "Demo.op_self",
            17,
            _header(
                "theorem",
                "Demo.op_self",
                [("{α : Type u}", True), ("[Magma α]", True), ("(a : α)", False)],
                'op a a <span class="fn">=</span> a &amp;&amp; a &lt; a',
            ),
        ),
        _declared(
            "structure",
            "Demo.Pair",
            6,
            _header("structure", "Demo.Pair", [("(α : Type u)", False)], "Type u", extends="One α"),
            "Two things.",
        ),
        _declared("class", "Demo.Magma", 2, _header("class", "Demo.Magma", [("(α : Type u)", False)], "Type u")),
        _declared("def", "Demo.Sq", 30, _header("noncomputable abbrev", "Demo.Sq", [], "Type")),
        _declared("ctor", "Demo.Pair.mk", 6, ""),
    ],
}
INDEX = {
    "declarations": {
        "Demo.op_self": {"kind": "theorem", "docLink": "./Demo/Basic.html#Demo.op_self"},
        "Demo.Other.«two words»": {"kind": "def", "docLink": "./Demo/Far/Away.html#Demo.Other.%C2%ABtwo%20words%C2%BB"},
        "Demo.instOther": {"kind": "instance", "docLink": "./Demo/Far/Away.html#Demo.instOther"},
    },
    "instances": {"Demo.Magma": ["Demo.instMagmaNat", "Demo.instOther"]},
    "instancesFor": {"Nat": ["Demo.instMagmaNat"]},
    "modules": {"Demo.Basic": {"importedBy": [], "url": "./Demo/Basic.html"}},
}


@pytest.fixture
def docgen_folder(tmp_path: Path) -> Path:
    """A `declarations` folder with the index and one module."""
    folder = tmp_path / "declarations"
    folder.mkdir()
    (folder / "declaration-data.bmp").write_text(json.dumps(INDEX), encoding="utf-8")
    (folder / "declaration-data-Demo.Basic.bmp").write_text(json.dumps(MODULE), encoding="utf-8")
    return folder


def _number(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value % 128 | 128]) + _number(value // 128)


def _string(text: str) -> bytes:
    return _number(len(text.encode())) + text.encode()


def _name(name: str) -> bytes:
    data = b"\0"
    for part in name.split("."):
        data = (b"\2" + data + _number(int(part))) if part.isdecimal() else (b"\1" + data + _string(part))
    return data


def code(*nodes: str | tuple[str, str]) -> bytes:
    """Rendered code: a list of texts, and of (constant, text) pairs as tagged texts."""
    data = b"\2" + _number(len(nodes))
    for node in nodes:
        if isinstance(node, str):
            data += b"\0" + _string(node)
        else:
            data += b"\1\7" + b"\1\2" + _name(node[0]) + b"\0" + _string(node[1])  # a tag inside a tag
    return data


@pytest.fixture
def rendered() -> Callable[..., bytes]:
    """Bytes of rendered code."""
    return code


_SCHEMA = """
CREATE TABLE modules (name TEXT PRIMARY KEY, source_url TEXT);
CREATE TABLE declaration_ranges (module_name TEXT, position INTEGER, start_line INTEGER, start_column INTEGER,
  start_utf16 INTEGER, end_line INTEGER, end_column INTEGER, end_utf16 INTEGER);
CREATE TABLE declaration_markdown_docstrings (module_name TEXT, position INTEGER, text TEXT);
CREATE TABLE name_info (module_name TEXT, position INTEGER, kind TEXT, name TEXT, type BLOB, sorried INTEGER,
  render INTEGER);
CREATE TABLE constructors (module_name TEXT, position INTEGER, type_position INTEGER);
CREATE TABLE definitions (module_name TEXT, position INTEGER, is_unsafe INTEGER, hints TEXT, is_noncomputable INTEGER);
CREATE TABLE instances (module_name TEXT, position INTEGER, class_name TEXT);
CREATE TABLE structure_parents (module_name TEXT, position INTEGER, sequence INTEGER, projection_fn TEXT, type BLOB);
CREATE TABLE structure_constructors (module_name TEXT, position INTEGER, ctor_position INTEGER, name TEXT, type BLOB);
CREATE TABLE structure_fields (module_name TEXT, position INTEGER, sequence INTEGER, proj_name TEXT, type BLOB,
  is_direct INTEGER);
CREATE TABLE declaration_args (module_name TEXT, position INTEGER, sequence INTEGER, binder BLOB, is_implicit INTEGER);
CREATE TABLE declaration_attrs (module_name TEXT, position INTEGER, sequence INTEGER, attr TEXT);
"""


@pytest.fixture
def docgen_database(tmp_path: Path) -> Path:
    """An `api-docs.db` with the tables that doc-gen4 makes."""
    path = tmp_path / "api-docs.db"
    declared = [  # position, kind, name, type, line
        (0, "class", "Demo.Magma", code("Type u"), 2),
        (3, "definition", "Demo.Magma.op", code("α → α → α"), 3),
        (4, "structure", "Demo.Pair", code("Type u"), 6),
        (5, "constructor", "Demo.Pair.mk", code("Pair α"), 6),
        (6, "definition", "Demo.Pair.toOne", code("One α"), 6),
        (7, "definition", "Demo.Pair.snd", code("α"), 7),
        (8, "inductive", "Demo.Colour", code("Type"), 9),
        (9, "constructor", "Demo.Colour.red", code(("Demo.Colour", "Colour")), 10),
        (10, "class inductive", "Demo.Covered", code("Prop"), 12),
        (11, "theorem", "Demo.op_self", code(("Demo.Magma.op", "op"), " a a\n    = a"), 17),
        (12, "instance", "Demo.instMagmaNat", code(("Demo.Magma", "Magma"), " ", ("Nat", "ℕ")), 19),
        (13, "definition", "Demo.Sq", code("Type"), 30),
        (14, "theorem", "Demo.op_self.match_1", code("True"), 17),
        (15, "theorem", "Demo.old", code("True" * 100), 31),
    ]
    with sqlite3.connect(path) as database:
        database.executescript(_SCHEMA)
        module = "Demo.Basic"
        database.execute("INSERT INTO modules VALUES (?, NULL)", [module])
        for position, kind, name, type_, line in declared:
            database.execute(
                "INSERT INTO name_info VALUES (?, ?, ?, ?, ?, 0, 1)", [module, position, kind, name, type_]
            )
            database.execute(
                "INSERT INTO declaration_ranges VALUES (?, ?, ?, 0, 0, ?, 0, 0)", [module, position, line, line]
            )
        database.execute("INSERT INTO declaration_markdown_docstrings VALUES (?, 4, 'Two things. ')", [module])
        database.execute("INSERT INTO structure_fields VALUES (?, 0, 0, 'Demo.Magma.op', x'00', 1)", [module])
        database.execute("INSERT INTO structure_fields VALUES (?, 4, 0, 'Demo.One.one', x'00', 0)", [module])
        database.execute("INSERT INTO structure_fields VALUES (?, 4, 1, 'Demo.Pair.snd', x'00', 1)", [module])
        database.execute("INSERT INTO structure_parents VALUES (?, 4, 0, 'Demo.Pair.toOne', x'00')", [module])
        database.execute("INSERT INTO structure_constructors VALUES (?, 4, 5, 'Demo.Pair.mk', x'00')", [module])
        database.execute("INSERT INTO constructors VALUES (?, 9, 8)", [module])
        database.execute("INSERT INTO instances VALUES (?, 12, 'Demo.Magma')", [module])
        database.execute("INSERT INTO definitions VALUES (?, 13, 0, 'abbrev', 0)", [module])
        for number, (binder, implicit) in enumerate([("{α : Type u}", 1), ("[Magma α]", 1), ("(a : α)", 0)]):
            row = [module, number, code(binder), implicit]
            database.execute("INSERT INTO declaration_args VALUES (?, 11, ?, ?, ?)", row)
        database.execute("INSERT INTO declaration_attrs VALUES (?, 11, 0, 'simp')", [module])
        deprecated = 'deprecated Demo.op_self "use it" (since := "2025-01-31")'
        database.execute("INSERT INTO declaration_attrs VALUES (?, 15, 0, ?)", [module, deprecated])
    database.close()
    return path


@pytest.fixture
def lsv2_row() -> Callable[..., dict[str, Any]]:
    """A row of LeanSearch v2's corpus."""

    def row(name: list[Any], kind: str, type_: str, signature: str = "", **more: Any) -> dict[str, Any]:
        return {
            "name": name,
            "module_name": ["Demo", "Basic"],
            "kind": kind,
            "type": type_,
            "index": 0,
            "signature": signature,
            "value": "",
            "informal_name": "Square",
            "informal_description": "The square of a number.",
        } | more

    return row
