"""Reads a configuration file, applies the values of the command line, and reports every mistake at once."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import yaml
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from training_cluster.config.cluster_config import ClusterConfig
from training_workloads import InputError
from training_workloads.errors import unknown_name

__all__ = ["load_config"]

# Keys that AWS CDK itself keeps in the context: feature flags, settings, look-ups of an account, notes of its CLI.
_CDK_KEY = re.compile(r"@.*|aws(-cdk)?:.*|[\w-]+:account=.*|cli-telemetry|acknowledged-issue-numbers")


def load_config(path: Path, context: Mapping[str, Any] | None = None) -> ClusterConfig:
    """Reads a configuration file and applies the values given with `cdk -c key=value`.

    Args:
        path: The YAML file.
        context: The CDK context. A key is a dotted path to a value of the file, such as
            `node_groups.gpu.instance_type`; what CDK keeps there for itself is left alone.

    Raises:
        InputError: The file is not there or not a mapping, or one or more values are not allowed; the message has one
            line for each.
    """
    settings = _read(path)
    for key, value in (context or {}).items():
        if not _CDK_KEY.fullmatch(key):
            _override(settings, key, value)
    config, mistakes = _validate(settings)
    if config is None or mistakes:
        raise InputError("\n".join([f"{path} cannot be used:", *(f"  {mistake}" for mistake in mistakes)]))
    return config


def _validate(settings: dict[str, Any]) -> tuple[ClusterConfig | None, list[str]]:
    """Validates again without each mistake that was found, since a rule needs values of the right type to judge."""
    mistakes: list[str] = []
    removed: list[str] = []
    while True:
        try:
            return TypeAdapter(ClusterConfig).validate_python(settings), mistakes
        except ValidationError as error:
            found = error.errors(include_url=False)
        for details in found:
            mistakes += [mistake for mistake in _describe(details) if not _is_about(mistake, removed)]
        removed += [_dotted(details["loc"]) for details in found]
        if not all([_remove(settings, details["loc"]) for details in found]):
            return None, mistakes


def _is_about(mistake: str, removed: list[str]) -> bool:
    """Whether a rule judges a value that is no longer what the user wrote."""
    key = mistake.split("'")[1]
    return any(f"{location}.".startswith(f"{key}.") for location in removed)


def _dotted(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location))


def _remove(settings: dict[str, Any], location: tuple[int | str, ...]) -> bool:
    """Takes a value out of the settings, and what cannot be without it; False where that is everything."""
    while location and location[-1] in _required_at(location[:-1]):
        location = location[:-1]
    if not location:
        return False
    # A list is judged as a whole: without one of its values it would be another list.
    section, key = settings, str(location[0])
    for part in location[1:]:
        if not isinstance(section.get(key), dict):
            break
        section, key = section[key], str(part)
    section.pop(key, None)
    return True


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"'config' is {str(path)!r}, which is not a file; give another with '-c config=<file>'")
    settings = _parse(path.name, path.read_bytes())
    if not isinstance(settings, dict):
        raise InputError(f"{path} holds {type(settings).__name__}; write 'key: value' lines")
    return settings


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML takes the last of two equal keys in silence; here that is a mistake."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Makes a mapping whose keys are all different."""
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(problem=f"{key!r} is there twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep=deep)


def _parse(source: str, text: str | bytes) -> Any:
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{source} is not YAML: {error}") from error


def _override(settings: dict[str, Any], key: str, value: str) -> None:
    """Sets one value by its dotted path."""
    *parents, last = key.split(".")
    section = settings
    for depth, name in enumerate(parents):
        _check_known(tuple(parents[: depth + 1]))
        # Sections whose names are free are made in the file only, or a slip of the pen would make another.
        if name not in section and not _fields_at(tuple(parents[:depth])):
            raise unknown_name("key", key, [".".join((*parents[:depth], other)) for other in section])
        if not isinstance(section.get(name), dict):
            section[name] = {}
        section = section[name]
    _check_known((*parents, last))
    section[last] = _parse(f"'{key}'", value) if isinstance(value, str) else value


def _check_known(location: tuple[str, ...]) -> None:
    known = _fields_at(location[:-1])
    if known and location[-1] not in known:
        raise unknown_name("key", ".".join(location), [".".join((*location[:-1], name)) for name in known])


def _fields_at(location: tuple[str | int, ...]) -> list[str]:
    """Names of the fields that a place in the file may have; empty where names are free."""
    return [field.name for field in _dataclass_fields(location)]


def _required_at(location: tuple[str | int, ...]) -> list[str]:
    """Names of the fields that a place in the file must have."""
    missing = dataclasses.MISSING
    fields = _dataclass_fields(location)
    return [field.name for field in fields if field.default is missing and field.default_factory is missing]


def _dataclass_fields(location: tuple[str | int, ...]) -> tuple[dataclasses.Field[Any], ...]:
    kind: Any = ClusterConfig
    for part in location:
        if dataclasses.is_dataclass(kind):
            kind = get_type_hints(kind).get(str(part), Any)
        else:
            # The type of the values of a mapping, or of the items of a list.
            inner = [argument for argument in get_args(kind) if argument is not Ellipsis]
            kind = inner[-1] if inner else Any
    return dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()


def _describe(details: ErrorDetails) -> list[str]:
    """Turns one of pydantic's findings into sentences in this project's words."""
    key = _dotted(details["loc"])
    given = details["input"]
    match details["type"]:
        case "unexpected_keyword_argument":
            parent = tuple(map(str, details["loc"][:-1]))
            return [str(unknown_name("key", key, [".".join((*parent, name)) for name in _fields_at(parent)]))]
        case "missing":
            return [f"'{key}' is missing; add it"]
        case "dataclass_type":
            return [f"'{key}' is {given!r}; write its keys below it: {', '.join(_fields_at(details['loc']))}"]
        case "string_type" if isinstance(given, int | float):
            return [f"'{key}' is {given!r}, a number; write it in quotes: \"{given}\""]
        case "value_error":
            # Our own checks name their field, and here the path to it.
            prefix = f"'{key}." if key else "'"
            return [mistake.replace("'", prefix, 1) for mistake in details["ctx"]["error"].args]
        case _:
            message = details["msg"].replace("tuple", "list")
            return [f"'{key}' is {given!r}; {message[0].lower()}{message[1:]}"]
