"""What may stand at a place of the configuration file, read off the types of `ClusterConfig`."""

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any, get_args, get_origin, get_type_hints

from training_cluster.config.cluster_config import ClusterConfig

__all__ = ["dotted", "fields_at", "is_list", "is_names", "is_section", "kind_at", "optional_at", "without_empty"]

#: Names and numbers from the top of the file down to a value.
Place = tuple[int | str, ...]


def dotted(place: Place) -> str:
    """A place as it is given on the command line."""
    return ".".join(map(str, place))


def is_section(kind: Any) -> bool:
    """Whether a type has keys with names of ours."""
    return dataclasses.is_dataclass(kind)


def is_names(kind: Any) -> bool:
    """Whether a type has keys with names of the user's."""
    return get_origin(kind) is dict


def is_list(kind: Any) -> bool:
    """Whether a type is a list."""
    return get_origin(kind) is tuple


@functools.cache
def kind_at(place: Place) -> Any:
    """Type of the value at a place, without the None of "or nothing"; None where there can be no value."""
    if not place:
        return ClusterConfig
    above, last = kind_at(place[:-1]), place[-1]
    if is_section(above):
        kind = get_type_hints(above).get(str(last))
    else:
        # Of the values of a mapping, or of the items of a list.
        kind = {dict: get_args(above)[-1:], tuple: get_args(above)[:1]}.get(get_origin(above), (None,))[0]
    if type(None) in get_args(kind):
        return next(one for one in get_args(kind) if one is not type(None))
    return kind


def fields_at(place: Place) -> dict[str, Any]:
    """Names and defaults of the keys that a place may have; none where names are free or there can be no key."""
    kind = kind_at(place)
    return {field.name: _default(field) for field in dataclasses.fields(kind)} if is_section(kind) else {}


def optional_at(place: Place) -> Iterable[str]:
    """Names of the keys that a place has a default for."""
    return (name for name, default in fields_at(place).items() if default is not dataclasses.MISSING)


def without_empty(value: Any, place: Place = ()) -> Any:
    """A copy without the keys that have a default and nothing after their colon."""
    kind = kind_at(place)
    if is_list(kind) and isinstance(value, list):
        return [without_empty(each, (*place, number)) for number, each in enumerate(value)]
    if not isinstance(value, dict) or not (is_section(kind) or is_names(kind)):
        return value
    optional = set(optional_at(place))
    kept = {name: each for name, each in value.items() if each is not None or name not in optional}
    return {name: without_empty(each, (*place, name)) for name, each in kept.items()}


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
