"""The pipeline as a Mermaid picture, from what `dvc dag --md` prints.

It shows the main line, each stage once for all its arms, without implied edges; what goes from one round into the next
is drawn dotted, so that the loop is seen as a loop.
"""

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


def folded(graph: Mapping[str, set[str]]) -> tuple[Graph, set[tuple[str, str]]]:
    """Each stage once, whatever its arm, and the edges that lead from one arm into another.

    Returns:
        The graph of stages, "stage@…" for one with arms, with circles where round 0 serves all arms;
        and the edges from arm to arm as (start, end), without those that stand in the graph as well.
    """
    plain: Graph = {_fold(stage): set() for stage in graph}
    onward: set[tuple[str, str]] = set()
    for stage, targets in graph.items():
        for target in targets:
            start, end = _fold(stage), _fold(target)
            if "@" in stage and "@" in target and stage.split("@")[1] != target.split("@")[1]:
                onward.add((start, end))
            elif start != end:
                plain[start].add(end)
    return plain, {(start, end) for start, end in onward if end not in plain[start]}


def mermaid(graph: Mapping[str, set[str]], onward: Collection[tuple[str, str]] = ()) -> str:
    """The picture, equal for equal graphs; `onward` edges are dotted."""
    order = {stage: f"n{at}" for at, stage in enumerate(sorted(graph))}
    lines = ["```mermaid", "flowchart TD", *(f'    {node}["{stage}"]' for stage, node in order.items())]
    lines += [f"    {order[stage]} --> {order[end]}" for stage in order for end in sorted(graph[stage])]
    lines += [f"    {order[start]} -. next round .-> {order[end]}" for start, end in sorted(onward)]
    return "\n".join([*lines, "```"])


def _fold(stage: str) -> str:
    return f"{stage.split('@')[0]}@…" if "@" in stage else stage


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
