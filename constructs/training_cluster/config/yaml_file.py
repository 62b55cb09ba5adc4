"""Reads YAML as people mean it: keys are names, each once, and a date is the text that was typed."""

from collections.abc import Iterator
from typing import Any

import yaml

from training_cluster.config.schema import Place, dotted
from training_workloads import InputError

__all__ = ["parse_yaml"]

_TEXT = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """PyYAML's own, but without dates, which the configuration has none of."""


def _as_typed(loader: _Loader, node: yaml.Node) -> str:
    return str(node.value)


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _as_typed)


def parse_yaml(source: str, text: str | bytes, place: Place = ()) -> tuple[Any, list[str]]:
    """Parses a file, or a value of the command line.

    Args:
        source: What the text is, for the message where it is not YAML.
        text: The YAML.
        place: Where the value belongs in the configuration.

    Returns:
        The value, and what is wrong with its keys; of a key that is there twice the last has its value.

    Raises:
        InputError: The text is not YAML.
    """
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None, []
        mistakes = list(_tidy_keys(node, place, set()))
        return loader.construct_document(node), mistakes
    except yaml.MarkedYAMLError as error:
        raise InputError(f"{source} is not YAML{_where(error)}") from error
    except (yaml.YAMLError, ValueError) as error:
        # Bytes that are no text, and numbers that Python cannot read; a second line would name PyYAML's stream.
        raise InputError(f"{source} is not YAML: {str(error).splitlines()[0]}") from error
    except RecursionError as error:
        raise InputError(f"{source} is not YAML that can be read: it is nested without end") from error


def _where(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    line = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{line}: {', '.join(filter(None, [error.context, error.problem]))}"


def _tidy_keys(node: yaml.Node, place: Place, seen: set[int]) -> Iterator[str]:
    """Makes each key the text that was typed (YAML reads `yes`, `1` and `~` as something else), once in its mapping."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from _tidy_keys(item, (*place, number), seen)
    if isinstance(node, yaml.MappingNode):
        yield from _repeated(node, place)
        node.value = [(_as_text(key), value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
        for key, value in node.value:
            yield from _tidy_keys(value, place if key.tag == _MERGE else (*place, key.value), seen)


def _as_text(key: yaml.ScalarNode) -> yaml.ScalarNode:
    # A copy: an alias may use the same node as a value.
    tag = key.tag if key.tag == _MERGE else _TEXT
    return yaml.ScalarNode(tag, key.value, key.start_mark, key.end_mark, key.style)


def _repeated(node: yaml.MappingNode, place: Place) -> Iterator[str]:
    """Tells which keys are there twice (YAML takes the last in silence), or are no names."""
    first: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            kind = "list" if isinstance(key, yaml.SequenceNode) else "mapping"
            subject = f"'{dotted(place)}'" if place else "the file"
            yield f"{subject} has a {kind} as a key, in line {line}; give a name"
        elif key.value in first:
            earlier = first[key.value]
            lines = f"line {line}" if earlier == line else f"lines {earlier} and {line}"
            yield f"'{dotted((*place, key.value))}' is there twice, in {lines}; keep one"
        else:
            first[key.value] = line
