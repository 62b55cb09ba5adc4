"""Reads a configuration file, applies the values of the command line, and reports every mistake at once."""

import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from training_cluster.config.cluster_config import ClusterConfig
from training_cluster.config.messages import describe, shown, unknown_key, unknown_section, without_keys
from training_cluster.config.schema import (
    Place,
    dotted,
    fields_at,
    is_list,
    is_names,
    is_section,
    kind_at,
    optional_at,
    without_empty,
)
from training_cluster.config.service_account_spec import ServiceAccountSpec
from training_cluster.config.yaml_file import parse_yaml
from training_cluster.nodes.gpu_node_group_spec import GpuNodeGroupSpec
from training_workloads import INSTANCE_TYPES, InputError

__all__ = ["load_config"]

# Keys that AWS CDK itself keeps in the context: feature flags, settings, look-ups of an account, notes of its CLI.
_CDK_KEY = re.compile(r"@.*|aws(-cdk)?:.*|[\w-]+:account=.*|cli-telemetry|acknowledged-issue-numbers")

# What takes the place of a section with mistakes, so that its name is still judged, and the cluster as a whole.
_STAND_INS: dict[str, Any] = {
    "node_groups": GpuNodeGroupSpec(instance_type=next(one.name for one in INSTANCE_TYPES.values() if one.gpus)),
    "service_accounts": ServiceAccountSpec(prefix="/"),
}


def load_config(path: str | PathLike[str], context: Mapping[str, Any] | None = None) -> ClusterConfig:
    """Reads a configuration file and applies the values given with `cdk -c key=value`.

    A key that has a default and is left empty has its default.

    Args:
        path: The YAML file.
        context: The CDK context. A key is a dotted path to a value of the file, such as
            `node_groups.gpu.instance_type`; what CDK keeps there for itself is left alone.

    Raises:
        InputError: The file is not there or not a mapping, or one or more values are not allowed; the message has one
            line for each.
    """
    settings, mistakes = _read(Path(path))
    given = {key: value for key, value in (context or {}).items() if not _CDK_KEY.fullmatch(key)}
    # What is given as a whole comes before its parts.
    for key in sorted(given, key=lambda key: key.count(".")):
        try:
            settings, found = _override(settings, tuple(key.split(".")), given[key])
            mistakes += found
        except InputError as error:
            mistakes += error.args
    config, found = _validate(without_empty(settings))
    mistakes += found
    if config is None or mistakes:
        subject = f"{path} with the values of the command line" if given else path
        raise InputError("\n".join([f"{subject} cannot be used:", *(f"  {mistake}" for mistake in mistakes)]))
    return config


def _read(path: Path) -> tuple[dict[str, Any], list[str]]:
    if not path.is_file():
        raise InputError(f"'config' is {str(path)!r}, which is not a file; give another with '-c config=<file>'")
    settings, mistakes = parse_yaml(str(path), path.read_bytes())
    if settings is None:
        raise InputError(f"{path} is empty; write 'key: value' lines")
    if not isinstance(settings, dict):
        what = "a list" if isinstance(settings, list) else shown(settings)
        raise InputError(f"{path} holds {what}; write 'key: value' lines")
    return settings, mistakes


def _override(settings: dict[str, Any], place: tuple[str, ...], given: Any) -> tuple[dict[str, Any], list[str]]:
    """Sets one value by the path to it."""
    section: Any = settings
    for depth, name in enumerate(place):
        above, kind = place[:depth], kind_at(place[:depth])
        names = section if isinstance(section, dict) else {}
        if is_section(kind) and name not in fields_at(above):
            raise InputError(unknown_key(place[: depth + 1]))
        # Sections whose names are free are made as a whole only, or a slip of the pen would make another.
        if is_names(kind) and name not in names and depth < len(place) - 1:
            raise InputError(unknown_section(place, place[: depth + 1], names))
        if not is_section(kind) and not is_names(kind):
            raise InputError(without_keys(place, above))
        section = names.get(name)
    value, mistakes = _value(place, given)
    return _with(settings, place, value), mistakes


def _with(section: Any, place: tuple[str, ...], value: Any) -> Any:
    """A copy with one other value: an alias of YAML may use the same section twice."""
    if not place:
        return value
    if not isinstance(section, dict | None):
        # Validation tells that it should be a section.
        return section
    name, *below = place
    return {**(section or {}), name: _with((section or {}).get(name), tuple(below), value)}


def _value(place: tuple[str, ...], given: Any) -> tuple[Any, list[str]]:
    """Text stays as it was typed: on a command line 1.30 has no quotes, since the shell takes them."""
    if not isinstance(given, str):
        return given, []
    if kind_at(place) is not str:
        return parse_yaml(f"'{dotted(place)}'", given, place)
    quoted = re.fullmatch(r"\s*(['\"])(.*)\1\s*", given)
    return (quoted[2] if quoted else given.strip()) or None, []


def _validate(settings: dict[str, Any]) -> tuple[ClusterConfig | None, list[str]]:
    """Validates again without each mistake that was found, since a rule needs values of the right type to judge."""
    mistakes: dict[str, None] = {}
    replaced: set[Place] = set()
    while True:
        try:
            return TypeAdapter(ClusterConfig).validate_python(settings), list(mistakes)
        except ValidationError as error:
            found = error.errors(include_url=False)
        for details in found:
            is_rule = details["type"] == "value_error"
            told = (mistake for mistake in describe(details) if not (is_rule and _is_about(mistake, replaced)))
            mistakes |= dict.fromkeys(told)
        places = {_replace(settings, details["loc"]) for details in found if details["loc"]}
        if places <= replaced:
            return None, list(mistakes)
        replaced |= places


def _is_about(mistake: str, replaced: set[Place]) -> bool:
    """Whether a rule judges, or compares with, a value that is no longer what the user wrote."""
    section = mistake.split("'")[1].rpartition(".")[0]
    known = [dotted(place) for place in replaced if place[-1] in fields_at(place[:-1])]
    # A section's own rules name its other keys without the path.
    near = [name.removeprefix(f"{section}.") for name in known if section and name.startswith(f"{section}.")]
    return any(re.search(rf"(?<![\w.]){re.escape(name)}(?![\w-])", mistake) for name in [*known, *near])


def _replace(settings: dict[str, Any], location: Place) -> Place:
    """Puts a default, or a section without mistakes, where a mistake is; returns the place of what was replaced."""
    # A list is judged as a whole: without one of its values it would be another list.
    lists = [depth for depth in range(1, len(location)) if is_list(kind_at(location[:depth]))]
    place = location[: lists[0]] if lists else location
    # A section goes with a value that it cannot be without.
    if len(place) > 1 and place[-1] in fields_at(place[:-1]) and place[-1] not in set(optional_at(place[:-1])):
        place = place[:-1]
    section: Any = settings
    for part in place[:-1]:
        section = section.get(part) if isinstance(section, dict) else None
    if isinstance(section, dict):
        stand_in = _STAND_INS.get(str(place[0]))
        if len(place) == 1 and place[0] not in set(optional_at(())) and stand_in:
            section[place[-1]] = {"stand-in": stand_in}
        elif len(place) == 2 and stand_in:
            section[place[-1]] = stand_in
        else:
            section.pop(place[-1], None)
    return place
