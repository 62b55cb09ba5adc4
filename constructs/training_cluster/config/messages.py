"""What is wrong with a value of the configuration file, in this project's words instead of pydantic's."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import yaml
from pydantic_core import ErrorDetails

from training_cluster.config.schema import Place, dotted, fields_at, is_list, is_names, is_section, kind_at, optional_at
from training_workloads.catalog import INSTANCE_TYPES
from training_workloads.catalog.versions import KUBERNETES_VERSIONS
from training_workloads.validation import known_names

__all__ = ["describe", "shown", "unknown_key", "unknown_section", "without_keys"]

# Of keys that have no default to show.
_EXAMPLES = {
    "admin_arns": "[arn:aws:iam::111122223333:role/Admin]",
    "availability_zones": "[us-east-1a, us-east-1b]",
    "data_repositories": "[{path: /data, prefix: data/}]",
    "desired_size": "1",
    "instance_type": next(one.name for one in INSTANCE_TYPES.values() if one.capacity_block),
    "max_size": "2",
    "monthly_budget_usd": "20000",
    "public_access_cidrs": "[203.0.113.7/32]",
    "throughput_mbps_per_tib": "125",
}

# By the user's own names.
_NAMES = {"node_groups": "gpu", "service_accounts": "trainer"}


def describe(details: ErrorDetails) -> list[str]:
    """Turns one of pydantic's findings into sentences."""
    place, given = details["loc"], details["input"]
    match details["type"]:
        case "unexpected_keyword_argument":
            return [unknown_key(place)]
        case "missing":
            return [f"'{dotted(place)}' is missing; add it"]
        case "value_error":
            # Our own checks name their field, and here the path to it.
            prefix = f"'{dotted(place)}." if place else "'"
            return [mistake.replace("'", prefix, 1) for mistake in details["ctx"]["error"].args]
        case _ if given is None:
            return [f"'{dotted(place)}' is left empty; {_wanted_for_nothing(place)}"]
        case _:
            return [f"'{dotted(place)}' is {shown(given)}{_wanted(place, given)}"]


def shown(value: Any) -> str:
    """A value as people type it: text in quotes, lists and keys on one line."""
    if isinstance(value, str):
        return repr(value)
    return str(yaml.safe_dump(value, default_flow_style=True, width=float("inf"))).removesuffix("\n...\n").strip()


def unknown_key(place: Place) -> str:
    """Answers a key that its section does not have."""
    return f"'{dotted(place)}' is not a key; {known_names(str(place[-1]), fields_at(place[:-1]))}"


def unknown_section(place: Place, section: Place, others: Mapping[str, Any]) -> str:
    """Answers a value for a name that is not in the file, where each name is the user's: it may be misspelled."""
    meant = f"{known_names(str(section[-1]), others)}; " if others else ""
    return (
        f"'{dotted(place)}' is a value of {dotted(section)}, which is not in the file; {meant}"
        f"give a new one as a whole: -c '{dotted(section)}={_keys_of(section)}'"
    )


def without_keys(place: Place, above: Place) -> str:
    """Answers a path that goes on below a list or a single value."""
    if is_list(kind_at(above)):
        return (
            f"'{dotted(place)}' is inside a list, which can only be given as a whole: "
            f"-c '{dotted(above)}={_EXAMPLES.get(str(above[-1]), '[…]')}'"
        )
    return f"'{dotted(place)}' is not a key: {dotted(above)} is a single value; give it: -c {dotted(above)}=…"


def _wanted_for_nothing(place: Place) -> str:
    kind = kind_at(place)
    if is_section(kind) or is_names(kind):
        return _wanted(place, None).removeprefix("; ")
    # A list's items have no default, but need not be there.
    return "give a value" if place[-1] in fields_at(place[:-1]) else "give a value or remove the line"


def _wanted(place: Place, given: Any) -> str:
    kind = kind_at(place)
    if is_names(kind):
        name = _NAMES.get(str(place[-1]), "name")
        return f"; write names with their keys below them, such as {name}: {_keys_of((*place, name))}"
    if is_section(kind):
        always = ", but a cluster always has one; remove the section for the default, or" if given is False else ";"
        return f"{always if place == ('lustre',) else ';'} write its keys below it: {', '.join(fields_at(place))}"
    if is_list(kind):
        return f"; give a list{_as_list(place, given) or _example(place)}"
    if kind is bool:
        return "; give true or false"
    return f"; give a whole number{_example(place)}" if kind is int else _wanted_text(place, given)


def _wanted_text(place: Place, given: Any) -> str:
    if not isinstance(given, bool | int | float):
        return f", not text; give text{_example(place)}"
    what, looks = ("not text", "true or false") if isinstance(given, bool) else ("a number", "a number")
    if place == ("kubernetes_version",):
        versions = ", ".join(f'"{version}"' for version in KUBERNETES_VERSIONS)
        return f", {what}; give one of {versions}, in quotes"
    return f", {what}; give text{_example(place)}, in quotes if it looks like {looks}"


def _example(place: Place) -> str:
    name = str(place[-1])
    default = fields_at(place[:-1]).get(name, dataclasses.MISSING)
    # Of a list the default is empty, or more than one line of a message.
    known = isinstance(default, str | int) and default != ""
    example = str(default) if known else _EXAMPLES.get(name)
    return f", such as {example}" if example else ""


def _as_list(place: Place, given: Any) -> str:
    """The same values, where they were typed as one text."""
    is_text = isinstance(given, str) and kind_at((*place, 0)) is str
    items = [item for item in re.split(r"[,\s]+", given) if item] if is_text else []
    return f": [{', '.join(items)}]" if items else ""


def _keys_of(section: Place) -> str:
    """What one of several sections cannot be without."""
    required = [name for name in fields_at(section) if name not in set(optional_at(section))]
    return f"{{{', '.join(f'{name}: …' for name in required)}}}"
