"""Guards extraction on all of Mathlib v4.28.0-rc1; runs only when a checkout is at hand (one to two minutes).

Run: LEAN_FINDER_MATHLIB=/path/to/mathlib4 pytest tests/corpus/test_mathlib.py
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from lean_finder.corpus.extract import Extraction, extract_library
from lean_finder.records import Declaration

CHECKOUT = os.environ.get("LEAN_FINDER_MATHLIB", "")
SAMPLE = json.loads((Path(__file__).parent / "mathlib_sample.json").read_text(encoding="utf-8"))

pytestmark = pytest.mark.skipif(not CHECKOUT, reason="LEAN_FINDER_MATHLIB names no checkout")

#: Names whose source is hard to read, in the module that declares them.
HARD = {
    "FirstOrder.Language.Ultraproduct.structure": "ModelTheory.Ultraproducts",
    "instAlgebraCliffordAlgebra": "LinearAlgebra.CliffordAlgebra.Basic",
    "ContinuousLinearMap.instCStarRingId": "Analysis.InnerProductSpace.Adjoint",
    "SSet.instQuasicategoryOfKanComplex": "AlgebraicTopology.Quasicategory.Basic",
    "instFintypeSimpleGraphOfDecidableEq": "Combinatorics.SimpleGraph.Basic",
    "Condensed.instAB4CondensedMod": "Condensed.AB",
    "RatFunc.ofFractionRing": "FieldTheory.RatFunc.Defs",
    "HilbertBasis.ofRepr": "Analysis.InnerProductSpace.l2Space",
    "AlgEquiv.toEquiv": "Algebra.Algebra.Equiv",
    "AlgEquiv.toMulEquiv": "Algebra.Algebra.Equiv",
    "CategoryTheory.Functor.IsHomLift": "CategoryTheory.FiberedCategory.HomLift",
    "GCDMonoid.gcd_mul_lcm": "Algebra.GCDMonoid.Basic",
    "LinearMap.equivariantProjection": "RepresentationTheory.Maschke",
    "UniqueSums.uniqueAdd_of_nonempty": "Algebra.Group.UniqueProds.Basic",
    "IsModularLattice.sup_inf_le_assoc_of_le": "Order.ModularLattice",
    "CategoryTheory.Limits.HasImageMap.mk'": "CategoryTheory.Limits.Shapes.Images",
    "Pi.smul_comp": "Algebra.Notation.Pi.Defs",
    "Pi.vadd_comp": "Algebra.Notation.Pi.Defs",
    "Mathlib.Meta.Positivity.mersenne_pos_of_pos": "NumberTheory.LucasLehmer",
    "Irreducible.separable": "FieldTheory.Separable",
    "PerfectRing.liftEquiv": "FieldTheory.IsPerfectClosure",
    "CategoryTheory.CommGrpObj": "CategoryTheory.Monoidal.Cartesian.CommGrp_",
    "instAddCommGroupPolynomialModule": "Algebra.Polynomial.Module.Basic",
    "ProbabilityTheory.Kernel.singularPart_def": "Probability.Kernel.RadonNikodym",
    "CuspForm.toSlashInvariantForm": "NumberTheory.ModularForms.Basic",
    "normUnit_coe_units": "Algebra.GCDMonoid.Basic",
    "AddQuantale": "Algebra.Order.Quantale",
    "FreeAddGroup.Red.Step": "GroupTheory.FreeGroup.Basic",
    "AddEquiv.addMonoidHomCongr": "Algebra.Group.Equiv.Basic",
}


@pytest.fixture(scope="module")
def mathlib() -> Extraction:
    return extract_library(Path(CHECKOUT), roots=("Mathlib",))


@pytest.fixture(scope="module")
def by_name(mathlib: Extraction) -> dict[str, Declaration]:
    return {item.name: item for item in mathlib.declarations}


def test_every_file_is_read(mathlib: Extraction) -> None:
    assert mathlib.files == 7521
    assert len(mathlib.declarations) > 260_000
    assert len(mathlib.problems) < 60
    unquoted = (re.sub("«.*?»", "", item.name) for item in mathlib.declarations)
    assert [name for name in unquoted if re.search(r"[\s()\[\]{}:=,@\"]", name)] == []


def test_the_hand_checked_sample(by_name: dict[str, Declaration]) -> None:
    """Names, kinds and lines written down from the source; null is a name that could not be derived by hand."""
    assert len(SAMPLE) == 300 and len({row["module"] for row in SAMPLE}) >= 60
    wrong = [
        row
        for row in SAMPLE
        if (item := by_name.get(row["name"])) is None
        or (item.module, item.line, item.kind) != (row["module"], row["line"], row["kind"])
    ]
    assert len(wrong) <= 3, wrong


@pytest.mark.parametrize(("name", "module"), HARD.items())
def test_hard_cases(by_name: dict[str, Declaration], name: str, module: str) -> None:
    assert by_name[name].module == f"Mathlib.{module}"
