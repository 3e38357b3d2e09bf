"""What an arm's retriever is trained on, and the gate before it: one place for all stages that work on these pairs.

It imports no torch, so that a stage with nothing to do is quick.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lean_finder.corpus.render import render_query
from lean_finder.errors import InputError
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import Corpus
from lean_finder.records import Negative, Pair, columns
from lean_finder.storage import read_json, read_table


def query_files(arm: str) -> list[Path]:
    """The files whose pairs an arm's retriever learns from."""
    return list(dict.fromkeys([paths.queries("r0"), paths.queries(arm)]))


def training_pairs(arm: str, corpus: Corpus) -> pd.DataFrame:
    """The rows of `query_files`, queries brought to the renderer's written form: columns of `records.Pair`."""
    pairs = pd.concat([read_table(file, columns(Pair)) for file in query_files(arm)], ignore_index=True)
    return pairs.assign(query=[render_query(text, corpus.renderer) for text in pairs["query"]])


def mined_negatives(arm: str, pairs: pd.DataFrame) -> list[list[str]] | None:
    """The names mined for each row of `training_pairs`, in the order mined; None if nothing was mined for the arm.

    Raises:
        InputError: the table is missing, or was mined for other pairs.
    """
    table = read_table(paths.negatives(arm), columns(Negative))
    if table.empty:
        return None
    found: dict[str, list[str]] = {identifier: [] for identifier in pairs["query_id"]}
    for identifier, name in zip(table["query_id"], table["declaration"], strict=True):
        if identifier not in found:
            raise InputError(paths.negatives(arm), f"no pair {identifier}", "mine again: dvc repro train_retriever")
        found[identifier].append(name)
    return [found[identifier] for identifier in pairs["query_id"]]


def require_passed(arm: str) -> None:
    """Stop unless that arm's audit stands and passed; DVC holds this edge too, a direct call would not.

    Raises:
        InputError: no verdict, or a critical finding.
    """
    if not read_json(paths.audit(arm))["passed"]:
        raise InputError(
            paths.audit(arm), "the audit did not pass, nothing may be trained", f"see artifacts/audit/{arm}"
        )
