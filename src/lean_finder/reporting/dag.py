"""The pipeline as a Mermaid picture, from what `dvc dag --md` prints: the main line, without implied edges."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from lean_finder.errors import InputError

_NODE = re.compile(r'^\s*(\w+)\["?(.+?)"?\]\s*$')
_EDGE = re.compile(r"^\s*(\w+)\s*-->\s*(\w+)\s*$")

Graph = dict[str, set[str]]


def parse(markdown: str) -> Graph:
    """Stage -> stages that read its outputs, from a Mermaid text as DVC prints it.

    Raises:
        InputError: the text has no node, or an edge of an unknown node.
    """
    labels: dict[str, str] = {}
    edges: list[tuple[str, str]] = []
    for line in markdown.splitlines():
        if node := _NODE.match(line):
            labels[node[1]] = node[2]
        elif edge := _EDGE.match(line):
            edges.append((edge[1], edge[2]))
    if not labels or any(end not in labels for edge in edges for end in edge):
        raise InputError("dvc dag --md", "its output was not understood", "see which version of DVC is installed")
    graph: Graph = {label: set() for label in labels.values()}
    for start, end in edges:
        graph[labels[start]].add(labels[end])
    return graph


def main_line(graph: Graph, arms: Collection[str]) -> Graph:
    """The graph without the stages of other arms: a stage@arm stays if its arm is among `arms`."""
    kept = {stage for stage in graph if "@" not in stage or stage.split("@", 1)[1] in arms}
    return {stage: targets & kept for stage, targets in graph.items() if stage in kept}


def reduced(graph: Mapping[str, set[str]]) -> Graph:
    """The same order with the fewest edges: an edge goes when a longer way says it too."""
    return {
        stage: {target for target in targets if not any(_reaches(graph, other, target) for other in targets - {target})}
        for stage, targets in graph.items()
    }


def mermaid(graph: Mapping[str, set[str]]) -> str:
    """The picture, equal for equal graphs."""
    order = {stage: f"n{at}" for at, stage in enumerate(sorted(graph))}
    lines = ["```mermaid", "flowchart TD", *(f'    {node}["{stage}"]' for stage, node in order.items())]
    lines += [f"    {order[stage]} --> {order[end]}" for stage in order for end in sorted(graph[stage])]
    return "\n".join([*lines, "```"])


def _reaches(graph: Mapping[str, set[str]], start: str, end: str) -> bool:
    """Whether a way leads from `start` to `end`; the graph has no circle."""
    open_, seen = [start], {start}
    while open_:
        stage = open_.pop()
        if stage == end:
            return True
        fresh = graph[stage] - seen
        seen |= fresh
        open_.extend(fresh)
    return False
