"""The tables of properties in docs/: of the sections of cluster.yaml and of the constructs, from their fields.

`python -m docs.site.property_tables` writes the lines between `<!-- properties: MODULE.CLASS -->` and `<!-- end -->`;
with `--check` it compares. `MODULE.CLASS beside MODULE.OTHER` omits the properties that the other class has too.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from setup.source_tree import ROOT
from training_workloads.keywords import shown_parameters
from training_workloads.spec import Spec, argument_texts, field_texts

__all__ = ["pages", "table"]

_MARK = re.compile(r"(<!-- properties: (?P<names>[\w. ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_DEFAULT = re.compile(r" *Default: (?P<value>.+?)\.(?: (?P<rest>.+))?$")

_NAMES: dict[Any, str] = {bool: "`true` or `false`", str: "text", int: "whole number", float: "number"}
_NOT_SHOWN = ("self", "scope", "id")


def table(names: str) -> str:
    """Return the table of a spec or of a construct's keywords, as Markdown.

    Args:
        names: Module and class, such as `training_cluster.GpuNodeGroup`; a spec beside it is not shown.
    """
    name, _, other = names.partition(" beside ")
    found, not_shown = _class(name), (*_NOT_SHOWN, *(_class(other).model_fields if other else ()))
    is_spec = issubclass(found, Spec)
    texts = field_texts(found) if is_spec else argument_texts(found.__init__)
    parameters = shown_parameters(found) if is_spec else inspect.signature(found.__init__).parameters.values()
    rows = [_row(each, texts[each.name], python=not is_spec) for each in parameters if each.name not in not_shown]
    return "".join(["| key | type | default | |\n", "|---|---|---|---|\n", *rows])


def _class(name: str) -> Any:
    module, _, kind = name.rpartition(".")
    return getattr(importlib.import_module(module), kind)


def _row(parameter: inspect.Parameter, text: str, *, python: bool) -> str:
    meaning, default = text, _value(parameter.default, python=python)
    if found := _DEFAULT.search(text):
        meaning, default = f"{text[: found.start()]} {found['rest'] or ''}".strip(), found["value"]
    # A row is a line: a bar would begin a column.
    cells = (f"`{parameter.name}`", _type(parameter.annotation, python=python), default, meaning.rstrip("."))
    return "| " + " | ".join(" ".join(cell.replace("|", r"\|").split()) for cell in cells) + " |\n"


def _value(default: Any, *, python: bool) -> str:
    if default is inspect.Parameter.empty:
        return "required"
    if isinstance(default, bool):
        return f"`{default}`" if python else f"`{str(default).lower()}`"
    return f"`{default}`" if isinstance(default, int | str) else "none"


def _type(annotation: Any, *, python: bool) -> str:
    """Return the words for a type; None stands for the default."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        given = (part for part in parts if part is not type(None))
        return " or ".join(_type(part, python=python) for part in given if python or _is_of_yaml(part))
    if origin is Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin is not None:
        return "values by name" if issubclass(origin, Mapping) else f"list of {_plural(parts[0], python=python)}"
    return _type_name(annotation, python=python)


def _type_name(annotation: type, *, python: bool) -> str:
    if annotation in _NAMES:
        return _NAMES[annotation] if not python or annotation is not bool else "bool"
    is_section = not python and issubclass(annotation, Spec)
    return "section" if is_section else f"`{annotation.__name__}`"


def _is_of_yaml(annotation: Any) -> bool:
    """Return whether YAML has values of a type; it has no objects of the CDK."""
    return annotation in _NAMES or get_origin(annotation) is not None or issubclass(annotation, Spec)


def _plural(annotation: Any, *, python: bool) -> str:
    return {str: "texts"}.get(annotation) or _type(annotation, python=python).replace("section", "sections")


def pages() -> dict[Path, str]:
    """Return the pages with such tables, by their file."""
    texts = {path: path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))}
    return {
        path: _MARK.sub(lambda mark: f"{mark[1]}{table(mark['names'])}{mark[3]}", text)
        for path, text in texts.items()
        if _MARK.search(text)
    }


def main(arguments: list[str]) -> None:
    """Write the pages, or compare them."""
    old = {path: text for path, text in pages().items() if path.read_text() != text}
    if old and "--check" in arguments:
        names = ", ".join(path.relative_to(ROOT).as_posix() for path in old)
        sys.exit(f"error: not as the code: the tables of {names}; run make pictures")
    for path, text in old.items():
        path.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
