"""The custom expectation by which Great Expectations judges evidence.

Each check's finder writes one column: for every row the evidence in words, or nothing. The expectation holds when
the whole column says nothing, so an unexpected value is the evidence itself, and Data Docs show it beside the row.
A column that is missing, or a cell that is not text, fails: the audit is closed by default.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import ColumnMapExpectation
from great_expectations.expectations.metrics.map_metric_provider import (
    ColumnMapMetricProvider,
    column_condition_partial,
)


class ColumnValuesWithoutEvidence(ColumnMapMetricProvider):
    """True where a cell is the empty text."""

    condition_metric_name = "column_values.without_evidence"

    @column_condition_partial(engine=PandasExecutionEngine)
    def _pandas(cls, column: pd.Series, **kwargs: Any) -> pd.Series:  # noqa: N805  the decorator makes it a class method
        return column == ""


class ExpectNoEvidence(ColumnMapExpectation):
    """Expect a check's column to hold no evidence in any row."""

    description: str = "No row may carry evidence of this leak."
    map_metric: ClassVar[str] = "column_values.without_evidence"
    success_keys: ClassVar[tuple[str, ...]] = ("mostly",)
    args_keys: ClassVar[tuple[str, ...]] = ("column",)
    library_metadata: ClassVar[dict[str, Any]] = {"maturity": "production", "tags": ["leakage"], "contributors": []}
