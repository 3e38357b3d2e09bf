"""`lean-finder search`: find declarations by meaning, in the index that the pipeline built."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lean_finder.corpus.render import render, render_query
from lean_finder.errors import InputError
from lean_finder.records import Declaration, columns, from_frame
from lean_finder.retrieval.dense import DenseRetriever
from lean_finder.retrieval.encoder import Encoder
from lean_finder.retrieval.hybrid import Fusion, HybridRetriever
from lean_finder.retrieval.index import DenseIndex
from lean_finder.retrieval.lexical import LexicalRetriever
from lean_finder.retrieval.retriever import clean_query
from lean_finder.retrieval.search import Hit, Scorer, SearchFilter
from lean_finder.retrieval.search import search as find
from lean_finder.storage import file_digest, read_json, read_table

app = typer.Typer(help="Search declarations by meaning.", add_completion=False)

_MODES = ("dense", "lexical", "hybrid")


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What the declaration says: words, Lean or LaTeX.")],
    k: Annotated[int, typer.Option("-k", help="Number of results.")] = 10,
    arm: Annotated[str, typer.Option(help="Whose retriever; the newest index if empty.")] = "",
    mode: Annotated[str, typer.Option(help="dense, lexical (BM25) or hybrid.")] = "dense",
    fusion: Annotated[
        Fusion | None, typer.Option(help="How hybrid joins the two; as the pipeline chose, else reciprocal_rank.")
    ] = None,
    weight: Annotated[
        float | None, typer.Option(help="BM25's weight in hybrid, dense has 1; as the pipeline chose, else 0.5.")
    ] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind; may be repeated.")] = None,
    module: Annotated[list[str] | None, typer.Option(help="Only below this module; may be repeated.")] = None,
    deprecated: Annotated[
        bool | None, typer.Option("--deprecated/--no-deprecated", help="Only, or no, deprecated names.")
    ] = None,
    generated: Annotated[
        bool | None, typer.Option("--generated/--no-generated", help="Only, or no, generated declarations.")
    ] = None,
    instances: Annotated[
        bool | None, typer.Option("--instances/--no-instances", help="Only, or no, type-class instances.")
    ] = None,
    private: Annotated[
        bool | None, typer.Option("--private/--no-private", help="Only, or no, private declarations.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say how each result was found.")] = False,
    artifacts: Annotated[Path, typer.Option(help="Folder with index/, retriever/ and corpus/.")] = Path("artifacts"),
) -> None:
    """Search declarations by meaning.

    Examples:

        lean-finder search "image of a compact set is compact"

        lean-finder search "⨆ i, ⨅ j, f i j ≤ ⨅ j, ⨆ i, f i j" --kind theorem --no-deprecated -k 5

        lean-finder search "galois connection" --module Mathlib.Order --json
    """
    clean_query(query)
    if mode not in _MODES:
        raise InputError("--mode", f"unknown mode {mode!r}", f"one of {', '.join(_MODES)}")
    table = artifacts / "corpus" / "declarations.parquet"
    declarations: list[Declaration] = from_frame(Declaration, read_table(table, columns(Declaration)))
    dense = _dense(artifacts, arm, file_digest(table))
    renderer = dense.encoder.contract.renderer
    retriever: Scorer = dense
    if mode != "dense":
        lexical = _lexical(artifacts, declarations, renderer, dense.index.meta.corpus)
        retriever = lexical if mode == "lexical" else _hybrid(artifacts, dense, lexical, fusion, weight)
    wanted = SearchFilter(tuple(kind or ()), tuple(module or ()), deprecated, generated, instances, private)
    hits = find(retriever, declarations, query, k, wanted)
    how = {
        "query": query,
        "read_as": dense.render_query(clean_query(query)),
        "mode": mode,
        "model": dense.encoder.digest,
        "corpus": dense.index.meta.corpus,
        "renderer": renderer,
    }
    if as_json:
        results = [hit.to_json() if explain else _without_reasons(hit) for hit in hits]
        typer.echo(json.dumps({**how, "results": results}, ensure_ascii=False, indent=2))
        return
    if explain:
        typer.echo(f"read as  {how['read_as']}")
        typer.echo(
            f"by       {mode}, model {how['model'][:12]}, corpus {how['corpus'][:12]}, texts {renderer or 'as is'}\n"
        )
    if not hits:
        typer.echo("nothing passes the filters")
    for hit in hits:
        _print(hit, explain)


def _dense(artifacts: Path, arm: str, corpus: str) -> DenseRetriever:
    folder = artifacts / "index"
    if not arm:
        found = sorted(path.parent for path in folder.glob("*/meta.json") if (path.parent / "vectors.npy").is_file())
        if not found:
            raise InputError(folder, "no index", "build one: dvc repro index")
        arm = max(found, key=lambda path: ((path / "meta.json").stat().st_mtime, path.name)).name
    index = DenseIndex.load(folder / arm, corpus=corpus)
    encoder = Encoder.load(artifacts / "retriever" / arm, index.meta.contract)
    return DenseRetriever(encoder, index, _query_reader(encoder.contract.renderer))


def _lexical(artifacts: Path, declarations: list[Declaration], renderer: str, corpus: str) -> LexicalRetriever:
    """The saved BM25 index, or one made now: seconds for a thousand declarations, a minute for Mathlib."""
    reader = _query_reader(renderer)
    folder = artifacts / "index" / "lexical"
    if folder.is_dir():
        return LexicalRetriever.load(folder, corpus=corpus, render_query=reader)
    texts = [render(item, renderer) if renderer else f"{item.docstring} {item.signature}" for item in declarations]
    return LexicalRetriever.build([item.name for item in declarations], texts, corpus=corpus, render_query=reader)


def _hybrid(
    artifacts: Path, dense: DenseRetriever, lexical: LexicalRetriever, fusion: Fusion | None, weight: float | None
) -> HybridRetriever:
    """Both fused as asked for; what is not asked for, as validation chose."""
    file = artifacts / "fusion.json"
    chosen: dict[str, Any] = {"fusion": "reciprocal_rank", "weight": 0.5}
    if file.is_file():
        chosen = read_json(file)["fusions"][0]
    weights = [1.0, chosen["weight"] if weight is None else weight]
    return HybridRetriever([dense, lexical], weights, fusion=fusion or chosen["fusion"])


def _query_reader(renderer: str) -> Callable[[str], str]:
    return (lambda text: render_query(text, renderer)) if renderer else str


def _without_reasons(hit: Hit) -> dict[str, Any]:
    return {key: value for key, value in hit.to_json().items() if key not in ("corpus_rank", "shared")}


def _print(hit: Hit, explain: bool) -> None:
    marks = [hit.kind, *(["deprecated"] if hit.deprecated else [])]
    typer.echo(f"{hit.rank:3d}. {hit.name}  [{', '.join(marks)}]  {hit.score:.3f}")
    if hit.signature:
        typer.echo(f"     {hit.signature}")
    if hit.doc:
        typer.echo(f"     {hit.doc}")
    if hit.replacement:
        typer.echo(f"     use {hit.replacement}")
    typer.echo(f"     {hit.module}:{hit.line}")
    if explain:
        typer.echo(f"     rank {hit.corpus_rank} without filters; shares: {' '.join(hit.shared) or 'no word'}")
