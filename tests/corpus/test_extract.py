"""Guards reading a folder: order, workers, cache, every kind of bad input. Run: pytest tests/corpus/test_extract.py"""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

import pytest

from lean_finder.corpus import extract
from lean_finder.corpus.extract import extract_library, lean_files, read_corpus
from lean_finder.errors import InputError
from lean_finder.records import Declaration, to_frame
from lean_finder.storage import write_table

GOOD = "namespace {0}\n/-- Doc of {0}. -/\ntheorem t (n : Nat) : n = n := rfl\ninstance : Inhabited {0} := x\nend {0}\n"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for at in range(70):
        path = tmp_path / "Lib" / f"Part{at % 7}" / f"F{at:02}.lean"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(GOOD.format(f"N{at:02}"), encoding="utf-8")
    (tmp_path / "Lib.lean").write_text("import Lib.Part0.F00\n", encoding="utf-8")
    (tmp_path / "Other.lean").write_text("theorem outside : True := trivial\n", encoding="utf-8")
    return tmp_path


def test_one_worker_and_two_give_the_same_sorted_declarations(library: Path) -> None:
    one = extract_library(library, workers=1)
    two = extract_library(library, workers=2)
    assert [asdict(item) for item in one.declarations] == [asdict(item) for item in two.declarations]
    assert one.problems == two.problems
    keys = [(item.module, item.line, item.name) for item in one.declarations]
    assert keys == sorted(keys) and len(keys) == 140
    assert one.files == 71


def test_module_roots_are_found_or_chosen(library: Path) -> None:
    assert library / "Other.lean" not in lean_files(library)
    assert lean_files(library, ("Other",)) == [library / "Other.lean"]
    assert len(lean_files(library, ("Lib.Part1",))) == 10
    with pytest.raises(InputError, match="Missing"):
        lean_files(library, ("Missing",))


def test_the_cache_changes_nothing_and_sees_every_change(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    plain = extract_library(library, workers=1)
    assert extract_library(library, workers=1, cache=cache) == plain
    parsed: list[str] = []
    real = extract.parse_file

    def counting(text: str, module: str, file: str):  # type: ignore[no-untyped-def]
        parsed.append(file)
        return real(text, module, file)

    monkeypatch.setattr(extract, "parse_file", counting)
    assert extract_library(library, workers=1, cache=cache) == plain
    assert parsed == []
    changed = library / "Lib" / "Part0" / "F00.lean"
    changed.write_text(changed.read_text("utf-8").replace("theorem t", "theorem changed"), encoding="utf-8")
    names = {item.name for item in extract_library(library, workers=1, cache=cache).declarations}
    assert parsed == ["Lib/Part0/F00.lean"]
    assert "N00.changed" in names and "N00.t" not in names


def test_a_damaged_cache_entry_is_parsed_again(library: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    plain = extract_library(library, workers=1, cache=cache)
    for entry in cache.rglob("*.json"):
        entry.write_text(entry.read_text("utf-8")[:50], encoding="utf-8")
    assert extract_library(library, workers=1, cache=cache) == plain


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"theorem a : True := trivial\ntheorem b (n : Nat) :", "cut off"),
        (b"theorem a : True := trivial\n/- open", "comment is never closed"),
        (b'theorem a : True := trivial\ndef b := "open', "string is never closed"),
        (b"namespace N\ntheorem a : True := trivial\n", "namespace N is never closed"),
        ("theorem a : True := trivial\n-- é\ntheorem b : é = é := rfl\n".encode("latin-1"), "not UTF-8"),
    ],
)
def test_bad_files_are_listed_and_cost_only_themselves(library: Path, content: bytes, reason: str) -> None:
    bad = library / "Lib" / "Bad.lean"
    bad.write_bytes(content)
    result = extract_library(library, workers=1)
    assert [(problem.file, reason in problem.reason) for problem in result.problems] == [("Lib/Bad.lean", True)]
    assert len(result.declarations) >= 140
    if b"theorem a : True" in content:
        assert any(item.module == "Lib.Bad" for item in result.declarations)
    with pytest.raises(InputError, match=r"Lib/Bad\.lean:\d"):
        extract_library(library, workers=1, strict=True)


def test_windows_files_read_like_unix_files(library: Path) -> None:
    path = library / "Lib" / "Part0" / "F00.lean"
    before = extract_library(library, workers=1).declarations
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert extract_library(library, workers=1).declarations == before


def test_links_in_a_circle_and_build_folders_are_not_followed(library: Path) -> None:
    (library / "Lib" / "loop").symlink_to(library / "Lib", target_is_directory=True)
    hidden = library / "Lib" / ".lake" / "Dep.lean"
    hidden.parent.mkdir()
    hidden.write_text("theorem hidden : True := trivial\n")
    assert extract_library(library, workers=1).files == 71


def test_a_dangling_link_is_a_problem_not_a_crash(library: Path) -> None:
    (library / "Lib" / "Gone.lean").symlink_to(library / "nowhere.lean")
    result = extract_library(library, workers=1)
    assert [problem.file for problem in result.problems] == ["Lib/Gone.lean"]


@pytest.mark.parametrize("content", [None, "", "-- only a comment\n"])
def test_nothing_to_read_is_an_error(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "A.lean").write_text(content)
    with pytest.raises(InputError):
        extract_library(tmp_path, workers=1)
    with pytest.raises(InputError, match="no such folder"):
        extract_library(tmp_path / "missing", workers=1)


def test_a_large_generated_file_is_read_in_linear_time(tmp_path: Path) -> None:
    line = "theorem t{0} (a b : Nat) (h : a = b) : b = a := by simp [h] -- {0}\n"
    (tmp_path / "Big.lean").write_text("".join(line.format(at) for at in range(40_000)))
    start = time.process_time()
    assert len(extract_library(tmp_path, workers=1).declarations) == 40_000
    assert time.process_time() - start < 30


def test_a_table_is_a_corpus_too(library: Path, tmp_path: Path) -> None:
    declarations = extract_library(library, workers=1).declarations
    write_table(tmp_path / "corpus.parquet", to_frame(Declaration, declarations))
    assert read_corpus(tmp_path / "corpus.parquet").declarations == declarations
    write_table(tmp_path / "twice.parquet", to_frame(Declaration, [*declarations, declarations[3]]))
    with pytest.raises(InputError, match=f"{declarations[3].name} stands in it twice"):
        read_corpus(tmp_path / "twice.parquet")
    write_table(tmp_path / "empty.parquet", to_frame(Declaration, []))
    with pytest.raises(InputError, match="no declaration"):
        read_corpus(tmp_path / "empty.parquet")
