"""Names of every notation, and which of them are Lean's own. Run: pytest tests/corpus/importers/test_names.py"""

from __future__ import annotations

import pytest

from lean_finder.corpus.importers.names import dotted, internal_reason, is_auxiliary, name_parts
from lean_finder.errors import InputError


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Nat.add_comm", ("Nat", "add_comm")),
        (["Nat", "add_comm"], ("Nat", "add_comm")),
        ("A.«x.y z».b", ("A", "x.y z", "b")),
        (["A", "«structure»"], ("A", "structure")),
        ("_private.A.0.b", ("_private", "A", 0, "b")),
        (["A", 3, "b"], ("A", 3, "b")),
        ("f'₁!?", ("f'₁!?",)),
    ],
)
def test_parts(name: object, parts: tuple[str | int, ...]) -> None:
    assert name_parts(name, "x") == parts


@pytest.mark.parametrize("name", ["", ".", "a..b", "a.", [], [""], [1.5], None, {"a": 1}, "«a"])
def test_no_names(name: object) -> None:
    with pytest.raises(InputError, match="not a Lean name"):
        name_parts(name, "x")


def test_the_root_prefix_goes() -> None:
    assert dotted(("_root_", "Nat", "two words")) == "Nat.two words"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("A.f", ""),
        ("Nat.eq_of_lt_succ", ""),  # LeanSearch's filter would lose it
        ("match_pattern", ""),
        ("proof_irrel_heq", ""),
        ("_root_.A.f", ""),
        ("A.f.eq_1", "internal: made by Lean"),
        ("A.f.eq_def", "internal: made by Lean"),
        ("A.f.match_12", "internal: made by Lean"),
        ("A.f._proof_1", "internal: made by Lean"),
        ("A._aux.f", "internal: made by Lean"),
        ("A.f.0.b", "internal: numbered name"),
        ("_private.A.0.f", "private"),
    ],
)
def test_internal(name: str, reason: str) -> None:
    assert internal_reason(name_parts(name, "x"), "") == reason


@pytest.mark.parametrize(
    ("last", "parent_kind", "auxiliary"),
    [
        ("casesOn", "structure", True),
        ("rec", "inductive", True),
        ("rec", "def", False),  # Quotient.rec
        ("rec", "", False),
        ("inj", "constructor", True),
        ("inj", "structure", False),
        ("injEq", "", True),
    ],
)
def test_auxiliary(last: str, parent_kind: str, auxiliary: bool) -> None:
    assert is_auxiliary(last, parent_kind) is auxiliary
