"""Every fact of the catalog, a row a line: a number that changes by mistake shows in a diff."""

import dataclasses
import importlib
import json
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any, get_origin

import pytest
from syrupy.assertion import SnapshotAssertion

from training_workloads import catalog

#: `INSTANCE_TYPES` has their rows.
_PARTS = ("g_family", "p_family")

#: Fields that have tests of their form: where a row was read and when, and why a value is unknown.
_ORIGIN = ("source", "sources", "checked", "evidence", "unknown")

MODULES = [each.name for each in pkgutil.iter_modules(catalog.__path__) if each.name not in _PARTS]


def facts(module: str) -> dict[str, Any]:
    """Return the public values of a module, without classes, functions and types."""
    found = importlib.import_module(f"{catalog.__name__}.{module}")
    values = {name: getattr(found, name) for name in getattr(found, "__all__", ())}
    return {name: value for name, value in values.items() if not callable(value) and get_origin(value) is None}


def plain(value: Any) -> Any:
    """Return a value of JSON, a row without its empty fields."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {name: plain(each) for name, each in fields.items() if each and name not in _ORIGIN}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(map(plain, value))
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value if isinstance(value, int | float | str | None) else str(value)


def lines(name: str, value: Any) -> Iterator[str]:
    """Yield a line for each row of a table, and one for another value."""
    if isinstance(value, Mapping):
        rows = [(f"{name}[{key}]", each) for key, each in value.items()]
    elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
        rows = [(name, each) for each in value]
    else:
        rows = [(name, value)]
    for place, row in rows:
        yield f"{place} {json.dumps(plain(row))}"


@pytest.mark.parametrize("module", [name for name in MODULES if facts(name)])
def test_the_facts_are_as_reviewed(module: str, snapshot: SnapshotAssertion) -> None:
    assert [line for name, value in facts(module).items() for line in lines(name, value)] == snapshot
