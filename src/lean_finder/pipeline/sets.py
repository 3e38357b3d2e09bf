"""The sets that models see, made in one place: the stage that trains and the stage that audits see the same rows."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd

from lean_finder.pipeline.corpus import Corpus
from lean_finder.records import StyleQuery, columns
from lean_finder.storage import read_jsonl


def style_queries(path: Path) -> pd.DataFrame:
    """Every short query in real users' style, as in its file; row i is line i + 1."""
    rows = read_jsonl(path, required=columns(StyleQuery))
    return pd.DataFrame(rows, columns=columns(StyleQuery))


def supervised_pairs(style: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """What the generator's supervised term learns from: everything but the validation declarations.

    A held-out declaration is *not* left out here: it is the audit's business to find it, and to stop.
    The index stays the file's, so that a finding names the line.
    """
    split = style["declaration"].map(corpus.split_of)
    return style[split != "validation"]


def validation_pairs(style: pd.DataFrame, corpus: Corpus) -> pd.DataFrame:
    """Short queries of validation declarations: what settings and early stopping are judged by."""
    return style[style["declaration"].map(corpus.split_of) == "validation"]


def prompt_declarations(corpus: Corpus, at_most: int, seed: int) -> list[str]:
    """Names of the declarations that the generator writes queries for: the training targets, or a sample of them.

    The sample is drawn by a hash of seed and name, so that it is the same for every arm and every round.

    Args:
        corpus: with its manifest.
        at_most: size of the sample; 0 = all.
        seed: of the draw.
    """
    return _drawn([item.name for item in corpus.targets("train")], at_most, seed)


def validation_names(corpus: Corpus, at_most: int, seed: int) -> list[str]:
    """Validation declarations that a search lets a generator write for; drawn like `prompt_declarations`."""
    return _drawn([item.name for item in corpus.targets("validation")], at_most, seed)


def _drawn(names: list[str], at_most: int, seed: int) -> list[str]:
    if not at_most or at_most >= len(names):
        return names
    drawn = sorted(names, key=lambda name: hashlib.sha256(f"{seed}\0{name}".encode()).digest())[:at_most]
    return sorted(drawn)
