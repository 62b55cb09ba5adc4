"""Fields that a schema does not know: what is meant by each, and the document as it was meant.

A field in the wrong place is one mistake: the other rules judge the document with the field where it belongs.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from training_workloads.lint.kind_schemas import fields_of, is_closed, items_of, required_of, schema_of, types_of
from training_workloads.manifests.schema_problems import field_name
from training_workloads.manifests.values import sequence, value_at
from training_workloads.validation import Path

__all__ = ["Corrected", "UnknownField", "unknown_fields"]

# Names that mean another thing in each place: only the next level may lack them.
_COMMON = frozenset({"type", "path", "key", "kind", "host", "port", "value", "template"})

# Lists whose first item may lack a field that is beside the list.
_LISTS = ("containers", "replicatedJobs")

# How far from its place a field is looked for, in levels up and down.
_FARTHEST = 4
# A misspelled name: `resource` for `resources`, `imagePulPolicy`, `volumeMount`.
_SAME_NAME = 0.8
_NEEDED_NAME = 0.6
# The first letters of a name that stand for it: `resources` for `resourcesPerNode`.
_PREFIX = 5

# More digits than any number of a manifest has.
_LONGEST_NUMBER = 20

_KINDS_OF_VALUES = {dict: {"object"}, list: {"array"}, str: {"string"}, bool: {"boolean"}, float: {"number"}}


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that is not known where it is.

    Attributes:
        path: Where it is.
        known: The fields that are known there.
        meant: Where it belongs; None if that is not clear.
    """

    path: Path
    known: tuple[str, ...]
    meant: Path | None


def unknown_fields(kind: str, document: Any) -> Iterator[UnknownField]:
    """Yield each field that the schema of a kind of document does not have."""
    schema = schema_of(kind)
    yield from _unknown_below(_Place(schema, document), schema, document, ()) if schema else ()


@dataclass(frozen=True, slots=True)
class _Place:
    """A whole document with its schema."""

    schema: Any
    document: Any

    def schema_at(self, path: Path) -> Any:
        """Return the schema at a path; empty where anything may be."""
        schema = self.schema
        for key in path:
            schema = items_of(schema) if isinstance(key, int) else fields_of(schema).get(key, {})
        return schema

    def value_at(self, path: Path) -> Any:
        """Return the value at a path, None if there is none."""
        return value_at(self.document, path)

    def neighbours(self, path: Path) -> Iterator[Path]:
        """Yield the objects one level up and down."""
        if path:
            yield path[: -2 if isinstance(path[-1], int) else -1]
        for name, schema in fields_of(self.schema_at(path)).items():
            if name in _LISTS and sequence(self.value_at((*path, name))):
                yield (*path, name, 0)
            elif "object" in types_of(schema) and fields_of(schema):
                yield (*path, name)

    def accepts(self, path: Path, name: str, value: Any) -> bool:
        """Return whether an object lacks a field, and the value fits there."""
        fields = fields_of(self.schema_at(path))
        # Devices are not for the pod as a whole, which has resources too.
        if name not in fields or (name == "resources" and "containers" in fields):
            return False
        types = types_of(fields[name])
        fits = not types or bool(types & _KINDS_OF_VALUES.get(type(value), {"integer", "number"}))
        return fits and self.value_at((*path, name)) is None


def _unknown_below(place: _Place, schema: Any, value: Any, path: Path) -> Iterator[UnknownField]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _unknown_below(place, items_of(schema), item, (*path, number))
    if not isinstance(value, dict):
        return
    fields = fields_of(schema)
    for key, inner in value.items():
        name = field_name(key)
        if name in fields:
            yield from _unknown_below(place, fields[name], inner, (*path, name))
        elif fields and inner is not None:
            meant = _nearest(place, path, name, inner) or _respelled(place, path, name, inner)
            if meant or is_closed(schema):
                yield UnknownField((*path, name), tuple(fields), meant)


def _nearest(place: _Place, path: Path, name: str, value: Any) -> Path | None:
    """Return the nearest place that lacks a field of this name; None where there are several."""
    seen, ring = {path}, [path]
    # Nearly everything has a name, so one says nothing about its place.
    for _ in range(0 if name == "name" else 1 if name in _COMMON else _FARTHEST):
        ring = [near for at in ring for near in place.neighbours(at) if near not in seen]
        seen |= set(ring)
        if fits := [at for at in dict.fromkeys(ring) if place.accepts(at, name, value)]:
            return (*fits[0], name) if len(fits) == 1 else None
    return None


def _respelled(place: _Place, path: Path, name: str, value: Any) -> Path | None:
    """Return the field of the same place whose name looks much like this one."""
    schema = place.schema_at(path)
    known = [field for field in fields_of(schema) if place.accepts(path, field, value)]
    longer = [field for field in known if len(name) >= _PREFIX and field.lower().startswith(name.lower())]
    if len(longer) == 1:
        return (*path, longer[0])
    alike = {field: SequenceMatcher(None, name.lower(), field.lower()).ratio() for field in known}
    best = max(alike, key=alike.__getitem__, default=None)
    # One that is needed and missing may look less alike: `name` for `claimName`.
    needed = _NEEDED_NAME if best in required_of(schema) else _SAME_NAME
    return (*path, best) if best and alike[best] >= needed else None


@dataclass(frozen=True, slots=True)
class Corrected:
    """A document as it was meant: with its misplaced and misspelled fields where they belong, and values of their type.

    Attributes:
        document: The whole of it.
        moved: The fields that are elsewhere in the original.
        retyped: Paths of values that have another type in the original.
    """

    document: Any
    moved: tuple[UnknownField, ...]
    retyped: tuple[Path, ...]

    @classmethod
    def of(cls, kind: str, document: Any) -> "Corrected":
        """Return the correction of a document."""
        corrected = copy.deepcopy(document)
        unknown = tuple(field for field in unknown_fields(kind, document) if field.meant)
        for field in unknown:
            if field.meant and value_at(corrected, field.meant) is None:
                _put(corrected, field.meant, value_at(corrected, field.path))
        retyped: list[Path] = []
        corrected = _retype(schema_of(kind), corrected, (), retyped)
        return cls(corrected, unknown, tuple(retyped))

    def source_path(self, path: Path) -> Path | None:
        """Return where the original has a value; None where the original's is of another type."""
        if any(path[: len(wrong)] == wrong for wrong in self.retyped):
            return None
        for field in self.moved:
            if field.meant and path[: len(field.meant)] == field.meant:
                return (*field.path, *path[len(field.meant) :])
        return path

    def gives(self, path: Path) -> bool:
        """Return whether a value that the original lacks is one of those that it has elsewhere."""
        return any(field.meant is not None and field.meant[: len(path)] == path for field in self.moved)


def _retype(schema: Any, value: Any, path: Path, retyped: list[Path]) -> Any:
    """Return a value with the types of its schema where they are clear, and note the paths of those that differ."""
    types = types_of(schema) - {"null"}
    if (fixed := _of_type(types, value)) is not value:
        retyped.append(path)
        return fixed
    if isinstance(value, dict):
        fields, others = fields_of(schema), items_of(schema)
        return {
            key: _retype(fields.get(field_name(key), others), one, (*path, field_name(key)), retyped)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [_retype(items_of(schema), one, (*path, number), retyped) for number, one in enumerate(value)]
    return value


def _of_type(types: set[str], value: Any) -> Any:
    """Return the value that is meant, such as `[x]` for `x` and 8 for "8"; itself if its type is right."""
    if types == {"array"} and isinstance(value, dict | str):
        return value.split() if isinstance(value, str) else [value]
    if types == {"integer"} and isinstance(value, str) and value.isdecimal() and len(value) < _LONGEST_NUMBER:
        return int(value)
    if types == {"string"} and isinstance(value, int | float):
        return field_name(value)
    return value


def _put(document: Any, path: Path, value: Any) -> None:
    for key in path[:-1]:
        if isinstance(document, dict) and document.get(key) is None:
            document[key] = {}
        document = value_at(document, (key,))
    if isinstance(document, dict):
        document[path[-1]] = value
