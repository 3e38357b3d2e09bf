"""doc-gen4's JSON and its HTML headers become records. Run: pytest tests/corpus/importers/test_docgen_json.py"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from lean_finder.corpus.importers import import_corpus
from lean_finder.corpus.importers.docgen_json import Header
from lean_finder.errors import InputError
from lean_finder.records import Declaration


def test_modules_give_types_and_the_index_gives_the_rest(docgen_folder: Path) -> None:
    imported = import_corpus(docgen_folder)
    found = {item.name: item for item in imported.declarations}
    assert imported.format == "docgen4"
    assert imported.certain_instances
    assert imported.counts == {}  # what the modules gave is not taken again from the index
    assert found["Demo.op_self"] == Declaration(
        name="Demo.op_self",
        kind="theorem",
        module="Demo.Basic",
        line=17,
        signature="{α : Type u} [Magma α] (a : α) : op a a = a && a < a",
    )
    assert found["Demo.Pair"].signature == "(α : Type u) extends One α : Type u"
    assert found["Demo.Pair"].docstring == "Two things."
    assert {name: (item.kind, item.module, item.is_instance) for name, item in found.items()} == {
        "Demo.Magma": ("class", "Demo.Basic", False),
        "Demo.Pair": ("structure", "Demo.Basic", False),
        "Demo.Pair.mk": ("constructor", "Demo.Basic", False),
        "Demo.op_self": ("theorem", "Demo.Basic", False),
        "Demo.instMagmaNat": ("instance", "Demo.Basic", True),
        "Demo.Sq": ("abbrev", "Demo.Basic", False),
        "Demo.Other.two words": ("def", "Demo.Far.Away", False),
        "Demo.instOther": ("instance", "Demo.Far.Away", True),
    }


def test_one_gzipped_module_is_enough(docgen_folder: Path, tmp_path: Path) -> None:
    packed = tmp_path / "declaration-data-Demo.Basic.bmp.gz"
    packed.write_bytes(gzip.compress((docgen_folder / "declaration-data-Demo.Basic.bmp").read_bytes()))
    assert len(import_corpus(packed).declarations) == 6


def test_a_header_is_read_by_its_classes() -> None:
    header = Header.parse(
        '<div class="decl_header"> <span class="decl_kind">class</span>\n<span class="decl_name">'
        '<a class="break_within" href="#"><span class="name">A</span>.<span class="name">b</span></a></span>'
        '<span class="decl_extends">extends</span> <span id="A.toB">B α</span>, <span id="A.toC">C α</span>'
        '<span class="decl_args"> :</span><div class="decl_type">Type</div> </div>'
    )
    assert (header.kind, header.name, header.signature) == ("class", "A.b", "extends B α, C α : Type")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("[]", r"expected a JSON object"),
        ('{"name": "M"}', r"no declaration in it"),
        ('{"declarations": []}', r"missing key 'name'"),
        ('{"name": "M", "declarations": [{"info": {"name": "a", "kind": "def"}}]}', r"info: missing key 'line'"),
        ('{"name": "M", "declarations": [{"info": {"name": "a", "kind": "verb", "line": 1}}]}', r"unknown kind 'verb'"),
        ('{"declarations": {"a": {"kind": "def"}}}', r"declarations: a: missing key 'docLink'"),
        ('{"name": "M", "declarations": [', r"the JSON ends too early"),
    ],
)
def test_bad_input_is_named(tmp_path: Path, content: str, complaint: str) -> None:
    file = tmp_path / "declaration-data-M.bmp"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=rf"declaration-data-M\.bmp.*{complaint}"):
        import_corpus(file)


def test_an_unknown_header_gives_no_signature(docgen_folder: Path) -> None:
    file = docgen_folder / "declaration-data-Demo.Basic.bmp"
    module = json.loads(file.read_text(encoding="utf-8"))
    module["declarations"][1]["header"] = "<p>Demo.op_self"
    file.write_text(json.dumps(module), encoding="utf-8")
    found = {item.name: item for item in import_corpus(file).declarations}
    assert found["Demo.op_self"].signature == ""
