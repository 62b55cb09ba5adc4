"""Read YAML with the line of each value: the one reader of `cluster.yaml`, of manifests and of values of an option.

Dates stay text, as in Kubernetes. Aliases that multiply, aliases inside their anchor and endless nesting are rejected
before they are expanded: a text of ten lines can describe more than any memory holds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import yaml

from training_workloads.validation import InputError, OddNumber, Path, Problem

__all__ = ["Typed", "YamlDocument", "read_settings", "read_yaml"]

# A job has some hundreds of values.
_MOST_ALIASED = 100_000
# A CustomResourceDefinition nests about 30 levels.
_DEEPEST = 100

# What PyYAML says of a line that is indented wrong, the same in plain words, and the fix.
_PLAIN_WORDS = {
    "expected <block end>, but found '<block": (
        "its indentation fits neither its neighbours nor a new level",
        "indent it like its neighbours",
    ),
    "mapping values are not allowed here": (
        "no name with a value can stand here",
        "indent it like its neighbours, or quote a text that contains ': '",
    ),
}

_MERGE = "tag:yaml.org,2002:merge"
_INT = "tag:yaml.org,2002:int"
_TEXT = "tag:yaml.org,2002:str"
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


# YAML 1.1 reads 010 as 8 and 2:30 as 150.
_PLAIN_NUMBER = re.compile(r"0|-?[1-9][0-9]*")


class Typed(str):
    """Text as the user typed it, which messages show without Python's quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class YamlDocument:
    """One document of a text.

    Attributes:
        content: Its value.
        source: The name of the text, such as a file name; empty if it has none.
        problems: Keys that are duplicate (the last one has the value) or not scalar (they are ignored).
        lossy: Paths of the mappings in which such a key loses a value: duplicates with the same value lose none.
        node: The nodes of PyYAML, for `line` and `typed`.
        text: The whole text.
    """

    content: Any
    source: str
    problems: tuple[Problem, ...]
    lossy: tuple[Path, ...]
    node: yaml.Node
    text: str

    def line(self, path: Path = ()) -> int:
        """Return the line, from 1, of a value's key, or of the innermost existing value around it."""
        return _walk(self.node, path)[-1][1] + 1

    def where(self, path: Path = ()) -> str:
        """Return the place of a value: `cluster.yaml:12`."""
        return _place(self.source, self.line(path))

    def typed(self, path: Path) -> Typed | None:
        """Return a value as it was typed, or its kind if it has several lines; None if it does not exist."""
        steps = _walk(self.node, path)
        return _typed(steps[-1][0], self.text) if len(steps) > len(path) else None


def read_settings(name: str, argument: str, fix: str) -> YamlDocument:
    """Return the one mapping in a file of settings, read strictly.

    Raises:
        InputError: The file, which the argument names, cannot be read, or its content is something else.
    """
    try:
        text = FilePath(name).read_bytes()
    except OSError as error:
        allowed = f"it cannot be read ({error.strerror})"
        raise InputError(Problem(path=(argument,), given=name, allowed=allowed, fix=fix)) from error
    documents = read_yaml(text, name, strict=True)
    if len(documents) != 1 or not isinstance(documents[0].content, dict):
        given = (
            f"{len(documents)} documents" if len(documents) > 1 else documents[0].typed(()) if documents else "empty"
        )
        raise InputError(Problem(path=(), given=Typed(given), fix="write 'key: value' lines", source=name))
    return documents[0]


def read_yaml(text: str | bytes, source: str = "", *, strict: bool = False) -> list[YamlDocument]:
    """Read every document of a text.

    Args:
        text: YAML or JSON; bytes are UTF-8.
        source: The name of the text, for problems: `cluster.yaml`.
        strict: Whether a key is always the text that was typed, and a whole number that is not written in plain digits
            is an `OddNumber`. Default: as YAML 1.1 reads them.

    Raises:
        InputError: The text is not YAML, or describes more than the limits allow.
    """
    loader = None
    try:
        text = text.decode() if isinstance(text, bytes) else text
        loader = (_StrictLoader if strict else _Loader)(text)
        return list(_documents(loader, text, source, strict))
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(_not_yaml(_explained(error, text), text, source)) from error


class _RefusedError(yaml.MarkedYAMLError):
    """A text within YAML's grammar that is not read, with what to do about it."""

    def __init__(self, problem: str, fix: str, mark: yaml.Mark) -> None:
        super().__init__(problem=problem, problem_mark=mark)
        self.fix = fix


class _Loader(yaml.SafeLoader):
    """PyYAML's loader, with limits."""

    def __init__(self, text: str, *, fast: bool = True) -> None:
        super().__init__(text)
        if fast and yaml.__with_libyaml__:
            # The same events from C take a sixth of the time; only PyYAML's own composer can have limits.
            events = yaml.CSafeLoader(text.removeprefix("\ufeff"))
            vars(self).update({name: getattr(events, name) for name in ("check_event", "peek_event", "get_event")})
        # Values that each node composed so far contains; an alias counts again what it stands for.
        self._sizes: dict[yaml.Node | None, int] = {}
        self._aliased = self._composed = self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose the next node.

        Raises:
            yaml.MarkedYAMLError: A limit is exceeded.
        """
        is_alias, before = self.check_event(yaml.AliasEvent), self._composed
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _RefusedError(f"values are nested more than {_DEEPEST} levels deep", "nest fewer levels", mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        if is_alias and node not in self._sizes:
            raise _RefusedError("an alias is inside its own anchor", "remove the alias", mark)
        size = self._sizes[node] if is_alias else 1
        self._composed += size
        self._aliased += size if is_alias else 0
        if self._aliased > _MOST_ALIASED:
            problem = f"the aliases stand for more than {_MOST_ALIASED} values"
            raise _RefusedError(problem, "write fewer aliases", mark)
        if not is_alias:
            self._sizes[node] = self._composed - before
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Construct the value of a node.

        Raises:
            yaml.MarkedYAMLError: A tag does not fit its value, such as `!!bool x`.
        """
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            problem = f"a value of {node.tag.rpartition(':')[2]} is not written so"
            raise _RefusedError(problem, "write the value without a tag", node.start_mark) from error


class _StrictLoader(_Loader):
    """The loader of what a person writes for this project alone."""


def _as_text(_: _Loader, node: yaml.Node) -> str:
    return str(node.value)


def _plain_number(loader: _StrictLoader, node: yaml.ScalarNode) -> int | OddNumber:
    typed = loader.construct_scalar(node)
    return int(typed) if _PLAIN_NUMBER.fullmatch(typed) else OddNumber(typed)


_Loader.add_constructor(_TIMESTAMP, _as_text)
_StrictLoader.add_constructor(_INT, _plain_number)


def _documents(loader: _Loader, text: str, source: str, strict: bool) -> Iterator[YamlDocument]:
    while loader.check_node():
        node: Any = loader.get_node()
        keys = _Keys(text, source, strict)
        problems = tuple(keys.tidy(node, ()))
        content = loader.construct_document(node)
        yield YamlDocument(
            content=content, source=source, problems=problems, lossy=tuple(keys.lossy), node=node, text=text
        )


class _Keys:
    """The keys of a document: rejects duplicates, of which YAML takes the last in silence, and what is not scalar."""

    def __init__(self, text: str, source: str, as_typed: bool) -> None:
        self._text, self._source, self._as_typed = text, source, as_typed
        self._seen: set[int] = set()
        self.lossy: list[Path] = []

    def tidy(self, node: yaml.Node, path: Path) -> Iterator[Problem]:
        """Yield the problems of all keys; remove those that are not scalar, and make the others text if wanted."""
        if id(node) in self._seen:
            return
        self._seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                yield from self.tidy(item, (*path, number))
        if isinstance(node, yaml.MappingNode):
            yield from self._problems(node, path)
            pairs = [(key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
            node.value = [(self._as_text(key), value) for key, value in pairs]
            for key, value in pairs:
                yield from self.tidy(value, path if key.tag == _MERGE else (*path, key.value))

    def _as_text(self, key: yaml.ScalarNode) -> yaml.ScalarNode:
        if not self._as_typed or key.tag == _MERGE:
            return key
        # A copy: an alias may use the same node as a value.
        return yaml.ScalarNode(_TEXT, key.value, key.start_mark, key.end_mark, key.style)

    def _problems(self, node: yaml.MappingNode, path: Path) -> Iterator[Problem]:
        first: dict[str, int] = {}
        values: dict[str, yaml.Node] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            place = _place(self._source, line)
            if not isinstance(key, yaml.ScalarNode):
                if "{{" in self._text:
                    raise InputError(_helm_template(place))
                self.lossy.append(path)
                given, allowed = _typed(key, self._text), "it is the key of a value"
                yield Problem(path=path, given=given, allowed=allowed, fix="give a name as the key", source=place)
            elif key.value in first:
                earlier = "the same line" if first[key.value] == line else f"line {first[key.value]}"
                given, allowed = _typed(value, self._text), f"{earlier} has the same key"
                fix = "keep one of them"
                self.lossy += [] if _is_same(values[key.value], value) else [path]
                yield Problem(path=(*path, key.value), given=given, allowed=allowed, fix=fix, source=place)
            else:
                first[key.value] = line
                values[key.value] = value


def _is_same(one: yaml.Node, other: yaml.Node) -> bool:
    """Return whether two nodes have the same value, with the same order of keys."""
    if one is other or one.tag != other.tag or not isinstance(one, yaml.CollectionNode):
        return one is other or (one.tag, one.value) == (other.tag, other.value)
    pairs = zip(_inner(one), _inner(other), strict=False)
    return len(one.value) == len(other.value) and all(_is_same(*pair) for pair in pairs)


def _inner(node: yaml.Node) -> Iterator[yaml.Node]:
    for item in node.value:
        yield from item if isinstance(item, tuple) else (item,)


def _walk(node: yaml.Node, path: Path) -> list[tuple[yaml.Node, int]]:
    """Return the node and each existing part of the path below it, with the line of its name, from 0."""
    steps = [(node, node.start_mark.line)]
    for part in path:
        found = _child(steps[-1][0], part)
        if found is None:
            break
        steps.append(found)
    return steps


def _child(node: yaml.Node, part: str | int) -> tuple[yaml.Node, int] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part].start_mark.line
    if isinstance(node, yaml.MappingNode):
        # The last of duplicate keys has the value.
        for name, value in reversed(node.value):
            if isinstance(name, yaml.ScalarNode) and name.value == part:
                return value, name.start_mark.line
    return None


def _place(source: str, line: int) -> str:
    return f"{source}:{line}" if source else f"line {line}"


def _typed(node: yaml.Node, text: str) -> Typed:
    typed = text[node.start_mark.index : node.end_mark.index].strip()
    if "\n" not in typed:
        return Typed(typed or "empty")
    if isinstance(node, yaml.ScalarNode):
        return Typed("a text of several lines")
    return Typed("a list" if isinstance(node, yaml.SequenceNode) else "a mapping")


def _explained(error: Exception, text: str | bytes) -> Exception:
    """Return the error of PyYAML's own parser where that of libyaml is vague: "did not find expected node content"."""
    if isinstance(error, yaml.MarkedYAMLError) and not isinstance(error, _RefusedError) and isinstance(text, str):
        loader = _Loader(text, fast=False)
        try:
            while loader.check_node():
                loader.get_node()
        except yaml.MarkedYAMLError as explained:
            return explained
    return error


def _not_yaml(error: Exception, text: str | bytes, source: str) -> Problem:
    """Return the problem of a text that is not YAML, with the line where the reader stopped."""
    if isinstance(text, bytes):
        return Problem(path=(), given=Typed("not UTF-8 text"), fix="save it as UTF-8", source=source)
    marks = (error.problem_mark, error.context_mark) if isinstance(error, yaml.MarkedYAMLError) else ()
    mark = next(filter(None, marks), None)
    place = _place(source, mark.line + 1) if mark else source
    line = [*text.splitlines(), ""][mark.line].strip() or Typed("the end") if mark else Typed("not YAML")
    if isinstance(error, _RefusedError):
        return Problem(path=(), given=line, allowed=str(error.problem), fix=error.fix, source=place)
    if "{{" in text:
        return _helm_template(place)
    reason = str(error.problem) if isinstance(error, yaml.MarkedYAMLError) else str(error).partition("\n")[0]
    fix = "replace the tab with spaces" if mark and text[mark.index : mark.index + 1] == "\t" else "correct it"
    reason, fix = next((_PLAIN_WORDS[known] for known in _PLAIN_WORDS if reason.startswith(known)), (reason, fix))
    allowed = f"this is not YAML: {reason}" if mark else reason
    return Problem(path=(), given=line, allowed=allowed, fix=fix, source=place)


def _helm_template(place: str) -> Problem:
    fix = "run 'helm template' and use what it prints"
    return Problem(path=(), given=Typed("a Helm template"), allowed="YAML is needed", fix=fix, source=place)
