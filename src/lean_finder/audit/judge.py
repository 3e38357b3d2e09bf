"""Great Expectations as the judge: suites in code, one checkpoint per set, Data Docs with the offending rows."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import great_expectations as gx
import pandas as pd
from great_expectations import expectations as gxe
from great_expectations.checkpoint import UpdateDataDocsAction

from lean_finder.audit.checks.base import WHOLE_SET, Check
from lean_finder.audit.expectations import ExpectNoEvidence

_SHOWN = ("row", "query", "declaration")
_SITE = "audit"

#: Rows from which on a judged table lists only those that carry evidence, after one row that counts the others: a
#: column of empty cells says no more than their number, and judging it takes minutes where there are many.
LISTED_WHOLE = 20_000


class Judge:
    """One Great Expectations context for all sets of an audit.

    Args:
        docs_dir: folder for the Data Docs; None = no HTML is made.
    """

    def __init__(self, docs_dir: Path | None = None) -> None:
        logging.getLogger("great_expectations").setLevel(logging.ERROR)
        self._context = gx.get_context(mode="ephemeral")
        self._context.variables.progress_bars = {"globally": False}
        self._source = self._context.data_sources.add_pandas("audit")
        self._actions = []
        if docs_dir is not None:
            self._context.add_data_docs_site(site_name=_SITE, site_config=_site(docs_dir))
            self._actions = [UpdateDataDocsAction(name="docs", site_names=[_SITE])]

    def verdict(self, name: str, frame: pd.DataFrame, checks: Sequence[Check]) -> dict[str, list[tuple[int, str]]]:
        """Let the checkpoint of one set decide.

        Args:
            name: of the set.
            frame: as `evidence_frame` makes it.
            checks: the checks whose columns the frame has.

        Returns:
            Check name -> (row, evidence) of all that it holds against the set; row 0 is the set as a whole.

        Raises:
            RuntimeError: an expectation could not be evaluated; nothing was decided.
        """
        suite = self._context.suites.add(gx.ExpectationSuite(name=name, expectations=_expectations(checks)))
        batch = self._source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("whole")
        definition = self._context.validation_definitions.add(
            gx.ValidationDefinition(name=name, data=batch, suite=suite)
        )
        checkpoint = self._context.checkpoints.add(
            gx.Checkpoint(
                name=name,
                validation_definitions=[definition],
                actions=self._actions,
                result_format={"result_format": "COMPLETE", "unexpected_index_column_names": list(_SHOWN)},
            )
        )
        result = checkpoint.run(batch_parameters={"dataframe": frame})
        return {
            str(item.expectation_config.kwargs["column"]): _findings(item)
            for validation in result.run_results.values()
            for item in validation.results
            if not item.success
        }


def evidence_frame(
    numbers: Sequence[int],
    queries: Sequence[str],
    declarations: Sequence[str],
    evidence: Mapping[str, Mapping[int, str]],
) -> pd.DataFrame:
    """What the judge looks at: the set as a whole (row 0), then the rows, one column of evidence per check.

    A set of more than `LISTED_WHOLE` rows is listed without the rows that carry no evidence; row 0 counts them.

    Args:
        numbers: what each row is called, from 1.
        queries: text of each row, as shown.
        declarations: declaration of each row, as shown.
        evidence: check name -> place of the row from 0 (or `WHOLE_SET`) -> evidence.
    """
    size = len(queries)
    listed: Sequence[int] = range(size)
    whole = "(the whole set)"
    if size > LISTED_WHOLE:
        listed = sorted({row for rows in evidence.values() for row in rows} - {WHOLE_SET})
        whole = f"(the whole set; {size - len(listed):,} of its {size:,} rows carry no evidence and are not listed)"
    place_of = {WHOLE_SET: 0} | {row: place for place, row in enumerate(listed, start=1)}
    table: dict[str, Any] = {
        "row": [0, *(numbers[row] for row in listed)],
        "query": [whole, *(queries[row] for row in listed)],
        "declaration": ["", *(declarations[row] for row in listed)],
    }
    for check, rows in evidence.items():
        column = [""] * (len(listed) + 1)
        for row, text in rows.items():
            column[place_of[row]] = text
        table[check] = column
    return pd.DataFrame(table)


def _expectations(checks: Sequence[Check]) -> list[Any]:
    shape = gxe.ExpectTableRowCountToBeBetween(min_value=1, description="The judged table must not be empty.")
    complete = [
        gxe.ExpectColumnValuesToNotBeNull(column=column, description=f"Every judged row has its {column}.")
        for column in _SHOWN
    ]
    found = [
        ExpectNoEvidence(column=check.name, severity=check.severity, description=f"({check.kind}) {check.description}")
        for check in checks
    ]
    return [shape, *complete, *found]


def _findings(item: Any) -> list[tuple[int, str]]:
    column = item.expectation_config.kwargs.get("column")
    if item.exception_info and any(
        isinstance(info, dict) and info.get("raised_exception")
        for info in [item.exception_info, *item.exception_info.values()]
    ):
        raise RuntimeError(f"the check {column!r} could not be evaluated: {item.exception_info}")
    if item.expectation_config.type != "expect_no_evidence":
        raise RuntimeError(f"the judged table is malformed: {item.expectation_config.type} on {column!r} failed")
    return [(int(cell["row"]), str(cell[column])) for cell in item.result["unexpected_index_list"]]


def _site(folder: Path) -> dict[str, Any]:
    return {
        "class_name": "SiteBuilder",
        "site_name": "Leakage audit",
        "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder.resolve())},
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
    }
