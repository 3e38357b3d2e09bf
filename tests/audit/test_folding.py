"""Disguises of one text fold to one key, different texts do not. Just this file: pytest tests/audit/test_folding.py"""

from __future__ import annotations

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from lean_finder.audit import workers
from lean_finder.audit.checks.names import name_in_query
from lean_finder.audit.folding import (
    Vocabulary,
    clean_name,
    fold_piece,
    fold_tokens,
    is_blank,
    name_key,
    squeeze,
    words_of_name,
)
from lean_finder.audit.minhash import BANDS, ROWS, candidates, is_in, mix, signatures
from lean_finder.audit.statements import parse_statement, sketch
from lean_finder.audit.textindex import HiddenText, TextIndex
from lean_finder.audit.workers import Workers


def _key(text: str) -> str:
    return squeeze(fold_tokens(text))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("`f a ≤ b ↔ a ≤ g b`", "$f a \\le b \\iff a \\leq g b$"),
        ("a ≤ b", "a <= b"),
        ("compact set", "Соmpасt  SET."),
        ("non-empty", "nonempty"),
        ("Stone–Čech", "stone cech"),
        ("a\u200bb", "ab"),
        ("x⁻¹", "$x^{-1}$"),
        ("ℝ", "$\\mathbb{R}$"),
    ],
)
def test_disguises_meet(one: str, two: str) -> None:
    assert _key(one) == _key(two) != ""


@pytest.mark.parametrize(
    ("one", "two"),
    [("a ≤ b", "a < b"), ("a ⊔ b", "a ⊓ b"), ("left inverse", "right inverse"), ("a + b", "a * b"), ("∀", "∃")],
)
def test_different_mathematics_stays_different(one: str, two: str) -> None:
    assert _key(one) != _key(two)


@given(st.text(max_size=60))
def test_folding_never_fails_and_forgets_case(text: str) -> None:
    assert _key(text.lower()) == _key(text.lower())
    assert all(token == token.lower() for token in fold_tokens(text))


@given(st.from_regex(r"[A-Z][a-z]{1,6}\.[a-z]{1,6}(_[a-z]{1,6}){0,3}", fullmatch=True))
def test_names_meet_their_disguises(name: str) -> None:
    assert clean_name(f" `_root_.{name}` ".replace("`", "")) == name
    assert (
        name_key(name)
        == name_key(name.upper())
        == name_key(name.replace("_", "").lower())
        == name_key(f"@{name}\u200b")
    )


def test_two_processes_fold_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"the {'abcdefghij'[place % 10] * 3} sets of size {place} ≤ n" for place in range(60)] + ["", "of the"]
    alone = Vocabulary().fold(texts)
    monkeypatch.setattr(workers, "_MANY", 10)
    monkeypatch.setattr(workers, "_PIECE", 7)
    with Workers() as pool:
        together = Vocabulary().join(pool.start(fold_piece, texts))
    assert together.keys == alone.keys
    assert together.words.tolist() == alone.words.tolist()
    assert together.offsets.tolist() == alone.offsets.tolist()


def test_words_of_a_name() -> None:
    assert words_of_name("IsCompact.isClosed_iff") == ["is", "compact", "is", "closed", "iff"]


def test_blank_texts() -> None:
    assert is_blank(" \u200b\u00ad\n")
    assert not is_blank("∅")


@pytest.mark.parametrize(
    ("query", "name", "found"),
    [
        ("lattice with bounds", "Lattice", False),
        ("compact set is closed", "IsCompact.isClosed", False),
        ("use IsCompact.isClosed", "IsCompact.isClosed", True),
        ("isClosed of compact", "IsCompact.isClosed", True),
        ("sum of add comm", "add_comm", False),
        ("add_comm for sums", "Nat.add_comm", True),
        ("the set is closed", "IsClosed", False),
    ],
)
def test_names_in_queries(query: str, name: str, found: bool) -> None:
    assert bool(name_in_query(query, name)) is found


def _index(texts: list[str], vocabulary: Vocabulary) -> TextIndex:
    hidden = [HiddenText(f"h{place}", text, "gold") for place, text in enumerate(texts)]
    return TextIndex(hidden, vocabulary, 5, 0.7, 0.75)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([f"{a}{b}x" for a in "bcdf" for b in "aeiou"]), min_size=5, max_size=9),
        min_size=1,
        max_size=5,
    )
)
def test_containment_equals_a_search_for_the_words(hidden: list[list[str]]) -> None:
    vocabulary = Vocabulary()
    index = _index([" ".join(words) for words in hidden], vocabulary)
    probes = [" ".join(["zzx", *words, "yyx", *other]) for words in hidden for other in hidden]
    probes += [" ".join(words[:4]) for words in hidden]
    probes = list(dict.fromkeys(probes))
    matches = index.matches(probes, vocabulary.fold(probes))
    for place, probe in enumerate(probes):
        inside = any(f" {' '.join(words)} " in f" {probe} " for words in hidden)
        assert (place in matches and matches[place].kind == "contained") == (inside and " " in probe and "zzx" in probe)


def test_common_phrases_cost_no_more_than_their_texts() -> None:
    """A phrase in every hidden text is no anchor: a training text with it is compared with few of them."""
    vocabulary = Vocabulary()
    phrase = "one two three four five six"
    index = _index([f"alpha{chr(97 + place)} {phrase} omega{chr(97 + place)}" for place in range(26)], vocabulary)
    probes = [f"other {phrase} words", f"so alphac {phrase} omegac it is"]
    matches = index.matches(probes, vocabulary.fold(probes))
    assert 0 not in matches
    assert matches[1].hidden.label == "h2"


def test_minhash_estimates_what_datasketch_estimates() -> None:
    """Ours, on whole arrays, must be as good an estimate of Jaccard similarity as the library's, set by set."""
    rng = np.random.default_rng(3)
    sets = [np.unique(rng.integers(0, 120, 80)) for _ in range(30)]
    flat, offsets = np.concatenate(sets).astype(np.uint64), np.cumsum([0, *map(len, sets)])
    ours = signatures(mix(flat), offsets)
    theirs = [MinHash(num_perm=BANDS * ROWS) for _ in sets]
    for sketch_, values in zip(theirs, sets, strict=True):
        sketch_.update_batch([str(value).encode() for value in values])
    errors: dict[str, list[float]] = {"ours": [], "theirs": []}
    for one in range(30):
        for two in range(one):
            true = len(np.intersect1d(sets[one], sets[two])) / len(np.union1d(sets[one], sets[two]))
            errors["ours"].append(abs((ours[one] == ours[two]).mean() - true))
            errors["theirs"].append(abs(theirs[one].jaccard(theirs[two]) - true))
    assert np.mean(errors["ours"]) < 1.2 * np.mean(errors["theirs"])


def test_candidates_hold_every_close_pair() -> None:
    rng = np.random.default_rng(5)
    known = [rng.integers(0, 10**9, 40) for _ in range(50)]
    close = [np.concatenate([values[:36], rng.integers(0, 10**9, 4)]) for values in known]

    def sign(rows: list[np.ndarray]) -> np.ndarray:
        return signatures(mix(np.concatenate(rows).astype(np.uint64)), np.cumsum([0, *map(len, rows)]))

    probe, other = candidates(sign(known), sign(close), 0.75)
    assert list(zip(probe.tolist(), other.tolist(), strict=True)) == [(place, place) for place in range(50)]


def test_looking_hashes_up_equals_membership() -> None:
    few = np.sort(mix(np.arange(0, 5000, 3, dtype=np.uint64)))
    # Neighbours of the few share their leading bits with them, and the extremes stand before and after them all.
    many = np.concatenate([mix(np.arange(6000, dtype=np.uint64)), few + np.uint64(1), few - np.uint64(1)])
    many = np.append(many, np.array([0, 2**64 - 1], dtype=np.uint64))
    assert is_in(many, few).tolist() == np.isin(many, few).tolist()
    assert not is_in(many, few[:0]).any()


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("(a b : α) : a ≤ a ⊔ b", "(x y : β) : x ≤ x ⊔ y", True),
        ("(a b : α) : a ≤ a ⊔ b", "(b a : α) : a ≤ a ⊔ b", True),
        ("(a b : α) : a ≤ a ⊔ b", "(a b : α) : b ≤ a ⊔ b", False),
        ("(a b : α) (h : a ≤ b) : f a ≤ f b", "(a b : α) : a ≤ b → f a ≤ f b", True),
        ("(a b : α) (h : a ≤ b) : f a ≤ f b", "(a b : α) (h : b ≤ a) : f a ≤ f b", False),
        ("(a b : α) : a * b = b * c", "(a b : α) : b * c = a * b", True),
        ("(s : Set α) : IsOpen s", "(s : Set α) : IsClosed s", False),
        ("{α : Type u} (s : Set α) : P s", "{β : Type*} (t : Set β) : P t", True),
    ],
)
def test_statement_keys(one: str, two: str, same: bool) -> None:
    assert (parse_statement(one).same_key() == parse_statement(two).same_key()) is same


def test_sketches_do_not_depend_on_order_or_neighbours() -> None:
    one, two = "(a : α) (h : P a) (k : Q a) : R a", "(b : α) (k : Q b) (h : P b) : R b"
    together, alone = sketch([(one, ""), (two, "")]), sketch([(two, "")])
    assert together.constants[0] == together.constants[1] == alone.constants[0]
    assert together.of(0).tolist() == together.of(1).tolist() == alone.of(0).tolist()


def test_a_prime_belongs_to_the_name_and_a_pair_of_quotes_does_not() -> None:
    assert clean_name("Matrix.det_comm'") == "Matrix.det_comm'"
    assert clean_name(" `Matrix.det_comm'` ") == "Matrix.det_comm'"
    assert clean_name("'Matrix.det_comm'") == "Matrix.det_comm"
    assert clean_name("'Matrix.det_comm''") == "Matrix.det_comm'"
    assert name_key("Matrix.det_comm'") != name_key("Matrix.det_comm")


def test_bold_marks_are_no_words() -> None:
    assert fold_tokens("**Cauchy-Schwarz inequality**.") == fold_tokens("Cauchy-Schwarz inequality")
    assert "*" in fold_tokens("a * b")
