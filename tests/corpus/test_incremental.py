"""Guards that bringing a library up to date gives what extracting all of it gives.

Run: pytest tests/corpus/test_incremental.py
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lean_finder.corpus import extract, families, resolve
from lean_finder.corpus.columns import SCHEMA, declaration_table, table_declarations, write_declarations
from lean_finder.corpus.extract import extract_library, extract_table
from lean_finder.records import Declaration, to_frame
from lean_finder.storage import write_table

FILES = {
    "A": """
structure Point (α : Type) where
  (x y : α)
  name : String

class Small (α : Type) where
  small : True

class Tiny (α : Type) extends Small α

/-- A long sum. -/
@[to_additive addThing_doc]
theorem mul_thing (a b : Nat) : a * b = b * a ↔ True := x
theorem plain_fact (n : Nat) : n = n ↔ True := rfl
private theorem hidden : True := trivial
""",
    "B": """
namespace Point
theorem swap (p : Point Nat) : p = p := rfl
alias turned := swap
alias ⟨one_way, other_way⟩ := plain_fact
@[deprecated plain_fact (since := "2026-01-01")]
theorem older (n : Nat) : n = n := rfl
end Point
instance {α : Type} [Tiny α] : Inhabited (Point α) := x
instance : Small Nat := x
attribute [simp] plain_fact
attribute [to_additive] Mul.power_two
""",
    "C": """
namespace Mul
theorem power_two (a : Nat) : mul_thing a = 1 := x
@[to_additive]
theorem uses (a : Nat) : Mul.power_two a = mul_thing a := x
@[simps x, ext]
structure Box where
  value : Nat
end Mul
instance : Small Nat := x
private theorem hidden : True := trivial
theorem twice : True := trivial
""",
    "D": """
export Mul (uses)
open Mul Point in
theorem last (b : Box) : swap b = older b := x
theorem twice : True := trivial
instance : Inhabited Mul.Box := x
infixl:65 " +++ " => Mul.plus
deriving instance DecidableEq for Mul.Box
""",
}

#: (file, text, its replacement): each reaches another file, or could.
CHANGES = {
    "a proof only": ("A", ":= rfl", ":= by\n  simp"),
    "a name others mean": ("A", "plain_fact", "simple_fact"),
    "a statement others copy": ("A", "(n : Nat) : n = n ↔", "(n : Int) : n + 0 = n ↔"),
    "a class's parent": ("A", "extends Small α", ""),
    "fields of one line change places": ("A", "(x y : α)", "(y x : α)"),
    "a structure's parameters": ("A", "Point (α : Type)", "Point {β : Type} (α : Type)"),
    "an attribute elsewhere goes": ("B", "attribute [simp] plain_fact", ""),
    "a translation elsewhere goes": ("B", "attribute [to_additive] Mul.power_two", ""),
    "a translation's name": ("A", "addThing_doc", "other_thing"),
    "a first declaration goes": ("C", "theorem twice : True := trivial", ""),
    "a second declaration goes": ("D", "theorem twice : True := trivial", ""),
    "an instance's name becomes free": ("B", "instance : Small Nat := x", ""),
    "a private name becomes public": ("A", "private theorem hidden", "theorem hidden"),
    "a nearer name": ("B", "theorem swap", "theorem plain_fact : True := trivial\ntheorem swap"),
    "a written twin": ("C", "namespace Mul\n", "theorem Add.uses : True := trivial\nnamespace Mul\n"),
    "an export's source": ("C", "theorem uses (a : Nat)", "/-- New. -/ theorem uses (a b : Nat)"),
    "an exporting file": ("D", "theorem last", "theorem latest"),
    "a notation": ("D", "Mul.plus", "Mul.times"),
    "a file that cannot be read whole": ("C", "theorem twice : True := trivial", "/- open"),
    "nothing is left": ("B", None, "-- empty\n"),
}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name, text in FILES.items():
        path = root / "Lib" / f"{name}.lean"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for at in range(12):  # enough files that a few changed ones are few
        (root / "Lib" / f"Z{at:02}.lean").write_text(f"theorem filler_{at} (n : Nat) : n = {at} := x\n", "utf-8")
    return root


def change(path: Path, old: str | None, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old is None or old in text
    path.write_text(new if old is None else text.replace(old, new), encoding="utf-8")


def bytes_of(root: Path, cache: Path | None, out: Path) -> tuple[bytes, list[tuple[object, ...]]]:
    found = extract_table(root, workers=1, cache=cache)
    write_declarations(out, found.table)
    return out.read_bytes(), [tuple(problem) for problem in found.problems]


@pytest.mark.parametrize("name", CHANGES)
def test_an_update_and_a_full_extraction_give_the_same_bytes(library: Path, tmp_path: Path, name: str) -> None:
    file, old, new = CHANGES[name]
    cache, out = tmp_path / "cache", tmp_path / "out.parquet"
    before = bytes_of(library, cache, out)
    assert before == bytes_of(library, None, out)
    original = (library / "Lib" / f"{file}.lean").read_text(encoding="utf-8")
    change(library / "Lib" / f"{file}.lean", old, new)
    assert bytes_of(library, cache, out) == bytes_of(library, None, out)
    change(library / "Lib" / f"{file}.lean", None, original)
    assert bytes_of(library, cache, out) == before


def test_many_changes_one_after_the_other(library: Path, tmp_path: Path) -> None:
    """Twenty steps, each on top of the stored state of the one before."""
    cache, out = tmp_path / "cache", tmp_path / "out.parquet"
    order = random.Random(3)
    for _ in range(20):
        file, old, new = CHANGES[order.choice(sorted(CHANGES))]
        path = library / "Lib" / f"{file}.lean"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(old, new) if old is not None and old in text else FILES[file], encoding="utf-8")
        assert bytes_of(library, cache, out) == bytes_of(library, None, out)


def test_only_what_a_change_reaches_is_resolved(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    extract_table(library, workers=1, cache=cache)

    def all_files(*arguments: object) -> object:
        raise AssertionError("everything is read again")

    monkeypatch.setattr(extract, "_parse_all", all_files)
    extract_table(library, workers=1, cache=cache)
    change(library / "Lib" / "A.lean", "plain_fact", "simple_fact")
    names = {item.name: item for item in extract_library(library, workers=1, cache=cache).declarations}
    assert names["Point.one_way"].generated_by == "plain_fact" and "simple_fact" in names


def test_an_added_and_a_removed_file(library: Path, tmp_path: Path) -> None:
    cache, out = tmp_path / "cache", tmp_path / "out.parquet"
    bytes_of(library, cache, out)
    shutil.copy(library / "Lib" / "A.lean", library / "Lib" / "E.lean")
    assert bytes_of(library, cache, out) == bytes_of(library, None, out)
    (library / "Lib" / "A.lean").unlink()
    assert bytes_of(library, cache, out) == bytes_of(library, None, out)


@pytest.mark.parametrize("damaged", ["files.json", "tables.json", "declarations.arrow", "stages.npy", "uses.npy"])
def test_a_damaged_state_is_made_anew(library: Path, tmp_path: Path, damaged: str) -> None:
    cache, out = tmp_path / "cache", tmp_path / "out.parquet"
    plain = bytes_of(library, cache, out)
    (file,) = cache.glob(f"state-*/{damaged}")
    file.write_bytes(file.read_bytes()[:40])
    assert bytes_of(library, cache, out) == plain


def test_a_change_that_keeps_size_and_time_within_the_clock_is_seen(library: Path, tmp_path: Path) -> None:
    cache, out = tmp_path / "cache", tmp_path / "out.parquet"
    bytes_of(library, cache, out)
    change(library / "Lib" / "Z01.lean", "filler_1", "Filler_1")
    assert bytes_of(library, cache, out) == bytes_of(library, None, out)


def test_workers_change_nothing(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Instances named, statements compared by two processes: the same rows, families, joins and stored questions."""
    monkeypatch.setattr(resolve, "_PARALLEL_ABOVE", 1)
    monkeypatch.setattr(families, "_PARALLEL_ABOVE", 1)
    monkeypatch.setattr(extract, "_SERIAL_BELOW", 1)
    one = extract_table(library, workers=1, cache=tmp_path / "one")
    two = extract_table(library, workers=2, cache=tmp_path / "two")
    assert one == two
    for name in ("tables.json", "declarations.arrow", "stages.npy", "uses.npy"):
        (left,), (right,) = (tmp_path.glob(f"{folder}/state-*/{name}") for folder in ("one", "two"))
        assert left.read_bytes() == right.read_bytes()
    declarations = table_declarations(one.table)
    alone, shared = families.find_families(declarations, 1), families.find_families(declarations, 2)
    assert alone == shared and len(alone.joins) > 10


@pytest.mark.parametrize("with_attributes", [True, False])
def test_a_table_and_a_frame_give_the_same_bytes(tmp_path: Path, with_attributes: bool) -> None:
    rows = [
        Declaration(f"a{at}", "theorem", "M", at, ": é", attributes=("simp",) * (at % 3 if with_attributes else 0))
        for at in range(9)
    ]
    write_table(tmp_path / "frame.parquet", to_frame(Declaration, rows))
    write_declarations(tmp_path / "table.parquet", declaration_table(rows))
    assert (tmp_path / "frame.parquet").read_bytes() == (tmp_path / "table.parquet").read_bytes()
    assert table_declarations(declaration_table(rows)) == rows
    assert pq.read_table(tmp_path / "table.parquet").column_names == SCHEMA.names
