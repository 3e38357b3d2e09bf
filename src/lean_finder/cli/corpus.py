"""`lean-finder corpus …`: build a corpus from Lean sources, look into it, compare two."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import pyarrow.compute as pc
import typer

from lean_finder.cli.corpus_import import import_
from lean_finder.corpus.check import check_names, share_found
from lean_finder.corpus.columns import write_declarations
from lean_finder.corpus.diff import diff_corpora
from lean_finder.corpus.extract import TableExtraction, extract_table
from lean_finder.corpus.families import find_families
from lean_finder.corpus.render import RENDERERS, render, statement
from lean_finder.errors import InputError
from lean_finder.records import Declaration, columns, from_frame
from lean_finder.storage import read_table, write_json

app = typer.Typer(help="Build, inspect and compare corpora of Lean declarations.", no_args_is_help=True)
app.command("import")(import_)

_DEFAULT = Path("artifacts/corpus/declarations.parquet")
_URL = re.compile(r"^(?:https?://|ssh://|git://|git@|file://)")

CorpusOption = Annotated[Path, typer.Option("--corpus", help="A declarations.parquet.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def build(
    source: Annotated[str, typer.Argument(help="Folder of a Lean project, or the URL of a git repository.")],
    rev: Annotated[str, typer.Option(help="Branch, tag or commit to read instead of the files as they are.")] = "",
    roots: Annotated[str, typer.Option(help="Module roots, comma-separated; found by themselves if empty.")] = "",
    out: Annotated[Path, typer.Option(help="Where to write the table.")] = _DEFAULT,
    cache: Annotated[str, typer.Option(help="Folder for what a later run can use again; none if empty.")] = "",
    workers: Annotated[int, typer.Option(help="Processes; 0 for one a core.")] = 0,
    strict: Annotated[bool, typer.Option(help="Stop at a file that cannot be read whole.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Extract every declaration of a Lean project; what was not understood goes to OUT's `.problems.json`.

    Examples:

        lean-finder corpus build ~/mathlib4 --roots Mathlib --out mathlib.parquet

        lean-finder corpus build ~/mathlib4 --roots Mathlib --out mathlib.parquet --cache ~/.cache/lean-finder

        lean-finder corpus build https://github.com/leanprover-community/mathlib4 --rev v4.28.0-rc1 --roots Mathlib
    """
    chosen = [root for root in re.split(r"[,\s]+", roots) if root]
    with _checkout(source, rev) as root:
        extraction = extract_table(
            root, roots=chosen, workers=workers, cache=Path(cache) if cache else None, strict=strict
        )
    write_declarations(out, extraction.table)
    write_json(out.with_suffix(".problems.json"), [problem._asdict() for problem in extraction.problems])
    summary = _summary(extraction, out)
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False))
        return
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in summary["kinds"].items())
    typer.echo(f"{summary['declarations']:,} declarations in {summary['files']:,} files ({kinds})")
    typer.echo(f"{summary['documented']:.1%} documented; {summary['problems']:,} problems in {summary['problem_file']}")
    typer.echo(str(out))


@app.command()
def family(
    name: Annotated[str, typer.Argument(help="Full name of a declaration.")],
    corpus: CorpusOption = _DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Show the family of a declaration with the evidence for every join.

    Example:

        lean-finder corpus family mul_comm --corpus mathlib.parquet
    """
    declarations = _load(corpus)
    _find(name, declarations, corpus)
    families = find_families(declarations)
    members = families.members(name)
    inside = set(members)
    joins = [join for join in families.joins if join.left in inside]
    if as_json:
        value = {"family": families.family_of[name], "members": members, "joins": [asdict(join) for join in joins]}
        typer.echo(json.dumps(value, ensure_ascii=False))
        return
    typer.echo(f"{families.family_of[name]}: {len(members)} members")
    for member in members:
        typer.echo(f"  {member}")
    for join in joins:
        typer.echo(f"{join.left} — {join.right}: {join.reason} ({join.evidence})")


@app.command()
def diff(
    old: Annotated[Path, typer.Argument(help="declarations.parquet of the old revision.")],
    new: Annotated[Path, typer.Argument(help="declarations.parquet of the new revision.")],
    as_json: JsonOption = False,
) -> None:
    """List what was added, removed, renamed through deprecation, moved or restated.

    Example:

        lean-finder corpus diff v4.27.parquet v4.28.parquet --json
    """
    result = asdict(diff_corpora(_load(old), _load(new)))
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
        return
    for change, items in result.items():
        typer.echo(f"{change}: {len(items)}")
        for item in items:
            typer.echo(f"  {item if isinstance(item, str) else ' → '.join(item)}")


@app.command()
def check(
    names: Annotated[Path, typer.Option("--names", help="One name a line, or a JSON array of names.")],
    corpus: CorpusOption = _DEFAULT,
    minimum: Annotated[float, typer.Option(help="Exit with status 1 below this share of found names.")] = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Tell which of the known names are in the corpus, which not, and why.

    Example:

        lean-finder corpus check --names golds.txt --corpus mathlib.parquet --minimum 0.95
    """
    checks = check_names(_read_names(names), _load(corpus))
    share = share_found(checks)
    if as_json:
        typer.echo(json.dumps({"share": share, "names": [asdict(item) for item in checks]}, ensure_ascii=False))
    else:
        for item in checks:
            if item.reason != "found":
                nearest = f" (nearest: {item.nearest})" if item.nearest not in {"", item.name} else ""
                typer.echo(f"{item.name}: {item.reason}{nearest}")
        typer.echo(f"{sum(item.found for item in checks)} of {len(checks)} found ({share:.1%})")
    if share < minimum:
        raise typer.Exit(1)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Full name of a declaration.")],
    corpus: CorpusOption = _DEFAULT,
    renderer: Annotated[str, typer.Option(help=f"Print the text of a renderer: {', '.join(RENDERERS)}.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Show one declaration, or the text that a retriever reads of it.

    Example:

        lean-finder corpus show Nat.Prime --corpus mathlib.parquet --renderer plain-v1
    """
    item = _find(name, _load(corpus), corpus)
    if renderer:
        typer.echo(render(item, renderer))
        return
    if as_json:
        typer.echo(json.dumps(asdict(item), ensure_ascii=False))
        return
    typer.echo(f"{item.kind} {item.name} {statement(item)}")
    typer.echo(f"{item.module}:{item.line}, {item.visibility}, {item.origin} {item.generated_by}".rstrip())
    if item.deprecated:
        typer.echo(f"deprecated {item.deprecated_since} {item.replacement}".rstrip())
    if item.docstring:
        typer.echo(item.docstring)


def _summary(extraction: TableExtraction, out: Path) -> dict[str, Any]:
    kinds = {item["values"]: item["counts"] for item in extraction.table.column("kind").value_counts().to_pylist()}
    count = extraction.table.num_rows
    documented = pc.sum(pc.not_equal(extraction.table.column("docstring"), "")).as_py()
    return {
        "declarations": count,
        "files": extraction.files,
        "kinds": dict(sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))),
        "documented": documented / count,
        "problems": len(extraction.problems),
        "problem_file": str(out.with_suffix(".problems.json")),
        "out": str(out),
    }


def _load(path: Path) -> list[Declaration]:
    frame = read_table(path, columns(Declaration))
    return list(from_frame(Declaration, frame))


def _find(name: str, declarations: Sequence[Declaration], corpus: Path) -> Declaration:
    for item in declarations:
        if item.name == name:
            return item
    result = check_names([name], declarations)[0]
    raise InputError(f"{corpus}: {name}", result.reason, f"nearest: {result.nearest}" if result.nearest else "")


def _read_names(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(path, "no such file", "give a file with one name a line") from error
    except (UnicodeDecodeError, IsADirectoryError) as error:
        raise InputError(path, "not a UTF-8 text file", "give a file with one name a line") from error
    if text.lstrip().startswith("["):
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}:{error.lineno}", f"not JSON: {error.msg}", "give an array of names") from error
        if not all(isinstance(value, str) for value in values):
            raise InputError(path, "an entry is not a string", "give an array of names")
        return values
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


@contextmanager
def _checkout(source: str, rev: str) -> Iterator[Path]:
    """The folder to read: `source` itself, or a temporary checkout of a URL or of a revision of a local repository."""
    is_url = bool(_URL.match(source))
    if not is_url and not rev:
        yield Path(source)
        return
    if not is_url and not Path(source).is_dir():
        raise InputError(source, "no such folder", "give a folder or the URL of a git repository")
    with tempfile.TemporaryDirectory(prefix="lean-finder-") as folder:
        target = Path(folder) / "checkout"
        origin = source if is_url else str(Path(source).resolve())
        _git(["init", "--quiet", str(target)], source)
        # A fetch of one revision at depth one is the least that git can transfer.
        _git(["-C", str(target), "fetch", "--quiet", "--depth=1", "--", origin, rev or "HEAD"], source, rev)
        _git(["-C", str(target), "checkout", "--quiet", "--detach", "FETCH_HEAD"], source, rev)
        yield target


def _git(arguments: Sequence[str], source: str, rev: str = "") -> None:
    environment_safe = ["git", "-c", "core.askPass=", "-c", "credential.helper=", *arguments]
    try:
        done = subprocess.run(environment_safe, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=1800)
    except FileNotFoundError as error:
        raise InputError("git", "not installed", "install git, or give a folder") from error
    except subprocess.TimeoutExpired as error:
        raise InputError(source, "git gave no answer for 30 minutes", "check the network") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        where = f"{source} at {rev}" if rev else source
        raise InputError(
            where, lines[-1].strip() if lines else "git failed", "check the address, the revision, the network"
        )


if __name__ == "__main__":
    sys.exit(app())
