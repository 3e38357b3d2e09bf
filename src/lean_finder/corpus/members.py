"""Fields, parent projections and constructors: the names that a structure or inductive type brings along."""

from __future__ import annotations

import re
from itertools import pairwise

from lean_finder.corpus.facts import RawDeclaration
from lean_finder.corpus.lexer import Source
from lean_finder.corpus.syntax import (
    NAME_RE,
    PART_RE,
    closing,
    drop_universes,
    one_line,
    parse_binder,
    plain_name,
    read_binders,
    split_commas,
    top_level,
)

_CONSTRUCTOR_NAME = re.compile(
    rf"\s*(?:(?:private|protected)\s+)*({PART_RE.pattern})\s*(?:\([^)]*\)\s*|\{{[^}}]*\}}\s*)*::"
)
_FIELD_HEAD = re.compile(r"\s*(?:@\[[^\]]*\]\s*|(?:private|protected|public|noncomputable|mutable|nonrec)\b\s*)*")
_BAR = re.compile(r"[(\[{⟨⦃⟦⟪)\]}⟩⦄⟧⟫]|\|(?![|>])|:(?!=)")
_ITEM = re.compile(rf"\s*(?:@\[[^\]]*\]\s*|(?:private|protected|public|unsafe)\b\s*)*({PART_RE.pattern})")
_DERIVING = re.compile(r"\bderiving\b")


def structure_members(
    source: Source, owner: RawDeclaration, start: int, stop: int, body_at: int, end: int
) -> list[RawDeclaration]:
    """Constructor (if it is given a name), parent projections and fields of a structure or class.

    Args:
        source: its file.
        owner: the structure.
        start: offset after its name.
        stop: offset where its head ends.
        body_at: offset where its fields start.
        end: offset where the command ends.
    """
    members = _parents(source, owner, start, stop)
    position = body_at
    named = _CONSTRUCTOR_NAME.match(source.mask, position, end)
    if named:
        members.append(_member(owner, named.group(1), "constructor", source, named.start(1), ""))
        position = named.end()
    clause = _DERIVING.search(source.mask, position, end)
    members.extend(_fields(source, owner, position, clause.start() if clause else end))
    return members


def constructors(source: Source, owner: RawDeclaration, body_at: int, end: int) -> list[RawDeclaration]:
    """Constructors of an inductive type: what follows each bar outside brackets."""
    clause = _DERIVING.search(source.mask, body_at, end)
    end = clause.start() if clause else end
    bars = _bars(source.mask, body_at, end)
    found = []
    for bar, next_bar in pairwise([*bars, end]):
        item = _ITEM.match(source.mask, bar + 1, next_bar)
        if item:
            signature = one_line(source.code[item.end() : next_bar])
            name_at = item.start(1)
            doc = source.doc_before(bar) or source.doc_inside(bar, name_at)
            found.append(_member(owner, item.group(1), "constructor", source, name_at, signature, doc))
    return found


def _bars(mask: str, start: int, end: int) -> list[int]:
    """Offsets of the bars that open a constructor: outside brackets, at a line's start or before any colon."""
    bars = []
    depth = 0
    colon = False
    for match in _BAR.finditer(mask, start, end):
        mark = match.group()
        if mark in "([{⟨⦃⟦⟪":
            depth += 1
        elif mark in ")]}⟩⦄⟧⟫":
            depth -= 1
        elif depth > 0:
            continue
        elif mark == ":":
            colon = True
        elif mark == "|":
            at = match.start()
            line_start = mask.rfind("\n", 0, at) + 1
            if not mask[line_start:at].strip() or not colon:
                bars.append(at)
                colon = False
    return bars


def _parents(source: Source, owner: RawDeclaration, start: int, stop: int) -> list[RawDeclaration]:
    head = source.mask[start:stop]
    marks = list(top_level(head))
    at = next((offset for mark, offset in marks if mark == "extends"), -1)
    if at < 0:
        return []
    parents_end = len(head)
    for mark, offset in marks:
        if mark == ":" and offset > at and re.match(r":\s*(?:Prop|Type|Sort)\b", head[offset:]):
            parents_end = offset
    found = []
    offset = start + at + len("extends")
    for parent in split_commas(head[at + len("extends") : parents_end]):
        named = re.match(rf"({PART_RE.pattern})\s*:(?!=)\s*", parent)
        type_ = drop_universes(parent[named.end() :] if named else parent).lstrip("@ ")
        constant = NAME_RE.match(type_)
        simple = bool(constant) and not re.search(
            r"^[^\s]+(?:\s+[^\s()\[\]{}]+)*\s+(?:[≃→×⟶≅↪↠⥤⊣≤]|[^\w\s()\[\]{}@.'«»⟨⟩,:·*?!_-])", type_
        )
        offset = source.mask.find(parent, offset)
        if named:
            member = _member(owner, named.group(1), "projection", source, offset, f": {one_line(type_)}")
        elif simple and constant:
            last = plain_name(constant.group()).rsplit(".", 1)[-1]
            member = _member(
                owner, "to" + last[:1].upper() + last[1:], "projection", source, offset, f": {one_line(type_)}"
            )
        else:
            member = _member(owner, "to", "projection", source, offset, f": {one_line(type_)}")._replace(
                parent_type=one_line(type_)
            )
        found.append(member)
    return found


def _fields(source: Source, owner: RawDeclaration, start: int, end: int) -> list[RawDeclaration]:
    """Fields: items at the column of the first one; an item without a colon sets a default and is no field."""
    mask = source.mask
    first = start
    while first < end and mask[first].isspace():
        first += 1
    if first >= end:
        return []
    column = first - (mask.rfind("\n", 0, first) + 1)
    starts = [first]
    at = mask.find("\n", first, end)
    while 0 <= at < end:
        line_end = mask.find("\n", at + 1, end)
        line = mask[at + 1 : end if line_end < 0 else line_end]
        text = line.lstrip()
        if text and len(line) - len(text) <= column:
            starts.append(at + 1 + len(line) - len(text))
        at = line_end
    found: list[RawDeclaration] = []
    for item, next_item in zip(starts, [*starts[1:], end], strict=True):
        found.extend(_field_item(source, owner, item, next_item))
    return found


def _field_item(source: Source, owner: RawDeclaration, start: int, end: int) -> list[RawDeclaration]:
    head = _FIELD_HEAD.match(source.mask, start, end)
    position = head.end() if head else start
    visibility = (
        "protected"
        if "protected" in source.mask[start:position]
        else ("private" if "private" in source.mask[start:position] else "public")
    )
    doc = source.doc_before(start)
    found = []
    while position < end and source.mask[position] in "([{⦃":
        close = closing(source.mask, position, end)
        binder = parse_binder(source.code[position:close])
        at = position
        for name in binder.names:
            at = source.mask.find(name, at)
            found.append(_member(owner, name, "field", source, at, f": {binder.type}", doc))
        position = close
        while position < end and source.mask[position].isspace():
            position += 1
    name_match = PART_RE.match(source.mask, position, end)
    if name_match is None or found:
        return [member._replace(visibility=visibility) for member in found]
    # Outside brackets a field has one name: `f x y : T` is the field f with binders x and y.
    _, colon = read_binders(source.mask[:end], name_match.end())
    if colon >= end or source.mask[colon] != ":" or source.mask.startswith(":=", colon):
        return []
    stop = end
    for mark, offset in top_level(source.mask[colon + 1 : end]):
        if mark == ":=":
            stop = colon + 1 + offset
            break
    signature = one_line(source.code[name_match.end() : stop])
    return [
        _member(owner, name_match.group(), "field", source, position, signature, doc)._replace(visibility=visibility)
    ]


def _member(
    owner: RawDeclaration, name: str, kind: str, source: Source, offset: int, signature: str, doc: str = ""
) -> RawDeclaration:
    return owner._replace(
        name=f"{owner.name}.{plain_name(name)}",
        kind=kind,
        line=source.line(max(offset, 0)),
        signature=signature,
        docstring=doc,
        attributes=(),
        visibility=owner.visibility,
        origin=kind,
        generated_by=owner.name,
    )
