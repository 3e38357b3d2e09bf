"""Figures as text: the same digits in the terminal, in Markdown and on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Shown where a file or figure is missing, so that a gap never looks like a zero.
GAP = "—"

_LABELS = {"ndcg": "nDCG", "recall": "Recall"}


def metric_label(metric: str) -> str:
    """The reader's name of a metric. Example: metric_label("ndcg_at_10") = "nDCG@10"."""
    family, at, cut = metric.partition("_at_")
    return f"{_LABELS.get(family, family)}@{cut}" if at else metric.upper()


def number(value: float | None, digits: int = 3) -> str:
    """A figure with a fixed number of decimals; `GAP` for None."""
    return GAP if value is None else f"{value:.{digits}f}".replace("-", "−")


def signed(value: float | None, digits: int = 3) -> str:
    """A difference with its sign; what rounds to zero has none."""
    if value is None:
        return GAP
    text = number(value, digits)
    if float(f"{value:.{digits}f}") == 0:
        return text.removeprefix("−")
    return f"+{text}" if value > 0 else text


def interval(figure: Mapping[str, float] | None, digits: int = 3) -> str:
    """A mean with its 95 % interval. Example: "0.512 [0.471, 0.553]"."""
    if not figure:
        return GAP
    return f"{number(figure['value'], digits)} [{number(figure['low'], digits)}, {number(figure['high'], digits)}]"


def signed_interval(figure: Mapping[str, float] | None, digits: int = 3) -> str:
    """A difference with its 95 % interval. Example: "+0.031 [−0.002, +0.064]"."""
    if not figure:
        return GAP
    return f"{signed(figure['value'], digits)} [{signed(figure['low'], digits)}, {signed(figure['high'], digits)}]"


def p_value(p: float | None) -> str:
    """Three decimals, and "<0.001" below them."""
    return GAP if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def seconds(value: float | None) -> str:
    """A duration. Example: seconds(75) = "1 min 15 s"."""
    if value is None:
        return GAP
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def is_interval(value: Any) -> bool:
    """A mapping that is a mean with its interval, as every measured figure of the project is written."""
    return isinstance(value, Mapping) and {"value", "low", "high"} <= set(value)


def plain(value: Any) -> str:
    """Any value of a JSON document, for tables of whatever another stage has written."""
    if value is None:
        return GAP
    if is_interval(value):
        return interval(value) + (f" (n {value['n']})" if "n" in value else "")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value) or GAP
    return str(value)


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as dotted keys; an interval stays whole."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and not is_interval(value):
            found.update(flat(value, f"{prefix}{key}."))
        else:
            found[f"{prefix}{key}"] = value
    return found


def describe(retriever: Mapping[str, Any]) -> str:
    """What a row of the results is, in a few words."""
    # Nobody may read such a figure without reading this.
    mark = "UNCERTIFIED: " if retriever.get("uncertified") else ""
    if not retriever["is_arm"]:
        return f"{mark}{retriever['about']}"
    return f"{mark}round {retriever['round']}, reward {retriever['reward']}, generator {retriever['generator']}"
