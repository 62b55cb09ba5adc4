"""Manifests as text: YAML of several documents, each value with its line, and what is no manifest yet."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from training_workloads.lint.run_rules import lint_documents
from training_workloads.lint.finding import Finding, Path
from training_workloads.validation import InputError

__all__ = ["MANIFEST_SUFFIXES", "Document", "lint_read", "lint_text", "read_documents"]

#: Files that `kubectl apply -f <folder>` reads.
MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")


# Nodes that all aliases of a text may stand for together: a job has some hundreds. Aliases of aliases multiply, and a
# text of ten lines can stand for more than any memory holds.
_MOST_ALIASED = 100_000


class _Loader(yaml.SafeLoader):
    """Reads dates as text, as Kubernetes does, and counts what aliases stand for."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        # Of each node composed so far, and of all; what an alias stands for is counted at each alias.
        self._sizes: dict[yaml.Node | None, int] = {}
        self._aliased = self._composed = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Composes the next node.

        Raises:
            InputError: The aliases of the text stand for too much.
        """
        is_alias, before = self.check_event(yaml.AliasEvent), self._composed
        node: yaml.Node | None = super().compose_node(parent, index)
        # An alias within its own anchor has no size yet.
        size = self._sizes.get(node, 1) if is_alias else 1
        self._composed += size
        self._aliased += size if is_alias else 0
        if self._aliased > _MOST_ALIASED:
            raise InputError(f"has aliases that stand for more than {_MOST_ALIASED} values; write fewer of them")
        if not is_alias:
            self._sizes[node] = self._composed - before
        return node


_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One object of a manifest.

    Attributes:
        content: What it says.
        node: Where each part of it stands in the text.
        prefix: Its path in the text's document: that of a `List` item, else nothing.
    """

    content: Any
    node: yaml.Node
    prefix: Path

    def line(self, path: Path) -> int:
        """The line, from 1, of the deepest part of a path that is there."""
        node, line = self.node, self.node.start_mark.line
        for key in (*self.prefix, *path):
            found = _child(node, key)
            if found is None:
                break
            node, line = found
        return line + 1


def lint_text(text: str) -> list[tuple[Finding, int]]:
    """Applies every rule to a manifest.

    Args:
        text: YAML or JSON with any number of documents.

    Returns:
        What is wrong, each with its line, from 1, by line.

    Raises:
        InputError: The text is not YAML; for a template the message says so.
    """
    return lint_read(read_documents(text))


def lint_read(documents: Sequence[Document]) -> list[tuple[Finding, int]]:
    """Applies every rule to documents that were read from one text.

    Returns:
        What is wrong, each with its line, from 1, by line.
    """
    linted = zip(documents, lint_documents([document.content for document in documents]), strict=True)
    located = [(finding, document.line(finding.path)) for document, findings in linted for finding in findings]
    return sorted(located, key=lambda pair: pair[1])


def read_documents(text: str) -> list[Document]:
    """Reads every object of a manifest, those in a `List` too.

    Raises:
        InputError: The text is not YAML, or its aliases multiply; for a template the message says so.
    """
    try:
        return [one for content, node in _load(text) for one in _items(content, node)]
    except InputError:
        raise
    # Besides YAML's own errors: what its constructors raise for `!!int x` and the like, and nesting without end.
    except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        if "{{" in text:
            raise InputError("is a Helm template; lint what 'helm template' makes of it") from error
        raise InputError(f"is not YAML: {_first_line(error)}") from error


def _load(text: str) -> Iterator[tuple[Any, yaml.Node]]:
    loader = _Loader(text)
    while loader.check_node():
        node: Any = loader.get_node()
        content = loader.construct_document(node)
        # An alias within its own anchor has no end.
        json.dumps(content, skipkeys=True, default=str)
        yield content, node


def _items(content: Any, node: yaml.Node) -> Iterator[Document]:
    is_list = isinstance(content, dict) and str(content.get("kind")).endswith("List")
    if not is_list or not isinstance(content.get("items"), list):
        yield Document(content=content, node=node, prefix=())
        return
    for number, item in enumerate(content["items"]):
        yield Document(content=item, node=node, prefix=("items", number))


def _child(node: yaml.Node, key: str | int) -> tuple[yaml.Node, int] | None:
    """A part of a node, with the line where its name stands, from 0."""
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.value[key], node.value[key].start_mark.line
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if isinstance(name, yaml.ScalarNode) and name.value == key:
                return value, name.start_mark.line
    return None


def _first_line(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return str(error).partition("\n")[0]
