"""All checks, in the order of the report."""

from __future__ import annotations

from lean_finder.audit.checks import crossing, names, provenance, shape, statements, targets, texts
from lean_finder.audit.checks.base import Check
from lean_finder.audit.inputs import AuditSettings


def all_checks(settings: AuditSettings) -> tuple[Check, ...]:
    """Every check that is run on every set; the embedding check is added by whoever has an encoder."""
    return (
        targets.TEST_TARGET,
        targets.FAMILY_TARGET,
        targets.VALIDATION_TARGET,
        statements.SAME_STATEMENT,
        statements.RESTATEMENT,
        statements.NEAR_STATEMENT,
        texts.QUERY_TEXT,
        texts.QUERY_NEAR,
        texts.GOLD_DESCRIPTION,
        crossing.CROSSING_TEST,
        crossing.CROSSING_VALIDATION,
        names.TARGET_NAME,
        provenance.PROVENANCE,
        targets.unknown_target(settings.unknown_target),
        shape.EMPTY_SET,
        shape.BLANK,
        shape.DUPLICATE,
        shape.LENGTH,
        shape.STYLE,
        shape.STYLE_DISTANCE,
    )
