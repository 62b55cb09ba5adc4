"""The API reference: where a page has the comment `<!-- api: MODULE -->`, the site shows the module's public names."""

import importlib
import inspect
import re
import sys
from typing import Any, TypeVar, get_args

__all__ = ["setup"]

_MARK = re.compile(r"<!-- api: (?P<module>[\w.]+) -->")

#: Packages whose members are shown: the CDK's reference has those that a class inherits from the CDK.
OURS = ("training_cluster", "training_workloads")


def own_members(kind: type) -> list[str]:
    """Return the public members that this project defines on a class, inherited ones included."""
    ours = [each for each in kind.__mro__ if each.__module__.split(".")[0] in OURS]
    names = [name for each in ours for name, value in vars(each).items() if _is_documented(name, value)]
    return list(dict.fromkeys(names))


def _is_documented(name: str, value: object) -> bool:
    if name.startswith("_") or isinstance(value, type):
        return False
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if not (inspect.isfunction(function) or isinstance(function, property)):
        return False
    return bool(function.__doc__)


def public(module: str) -> dict[str, Any]:
    """Return the public names of a module, without those of the package around it."""
    imported = importlib.import_module(module)
    package = module.rpartition(".")[0]
    around = importlib.import_module(package).__all__ if package else []
    return {name: getattr(imported, name) for name in imported.__all__ if name not in around}


def directives(module: str) -> str:
    """Return autodoc's directives for the public names of a module."""
    blocks = []
    for name, value in public(module).items():
        if inspect.isclass(value):
            members = ", ".join(own_members(value))
            blocks.append(f".. autoclass:: {module}.{name}" + (f"\n   :members: {members}" if members else ""))
        elif callable(value):
            blocks.append(f".. autofunction:: {module}.{name}")
        else:
            blocks.append(f".. autodata:: {_home(name, value)}.{name}\n   :no-value:")
    return "\n\n".join(blocks)


def signature(kind: type) -> inspect.Signature | None:
    """Return the arguments of our `__init__` for a class of the CDK's metaclass, which hides them from autodoc."""
    if type(kind).__module__.split(".")[0] != "jsii":
        return None
    ours = (each for each in kind.__mro__ if each.__module__.split(".")[0] in OURS)
    owner = next((each for each in ours if "__init__" in vars(each)), None)
    if owner is None:
        return None
    found = inspect.signature(vars(owner)["__init__"])
    arguments = [
        each.replace(annotation=_of_subclass(kind, each.annotation))
        for name, each in found.parameters.items()
        if name != "self"
    ]
    return found.replace(parameters=arguments)


def _of_subclass(kind: type, annotation: Any) -> Any:
    """Return the type that a class gives for the type variable of its generic base."""
    bases = [get_args(base) for base in getattr(kind, "__orig_bases__", ())]
    return bases[0][0] if isinstance(annotation, TypeVar) and bases and bases[0] else annotation


def _home(name: str, value: object) -> str:
    """Return the module that defines a constant: the comment about it is there."""
    ours = [module for key, module in list(sys.modules.items()) if key.split(".")[0] in OURS]
    same = [module for module in ours if vars(module).get(name) is value]
    return next(each.__name__ for each in same if re.search(rf"^{name}\b", inspect.getsource(each), flags=re.M))


def _add_reference(app: Any, name: str, source: list[str]) -> None:
    for module in _MARK.findall(source[0]):
        for value in public(module).values():
            if inspect.isclass(value) and (arguments := signature(value)):
                # For autodoc, in the process of the build.
                setattr(value, "__signature__", arguments)  # noqa: B010
    source[0] = _MARK.sub(lambda match: "```{eval-rst}\n" + directives(match["module"]) + "\n```", source[0])


def without_summary(lines: list[str], constructor: object) -> list[str]:
    """Return the lines about a class without the summary of its constructor: "Define the job."."""
    summary = (inspect.getdoc(constructor) or "").partition("\n")[0]
    return [line for line in lines if not summary or line != summary]


def _shorten(app: Any, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    if what == "class":
        lines[:] = without_summary(lines, getattr(value, "__init__"))  # noqa: B009


def _skip_other_modules() -> None:
    """Let autodoc search our modules only for comments on attributes: the CDK's have ten megabytes."""
    # Here, so that the tests of this module need no Sphinx.
    from sphinx.errors import PycodeError
    from sphinx.pycode import ModuleAnalyzer

    for_module = ModuleAnalyzer.for_module

    def of_ours(module: str) -> Any:
        if module.split(".")[0] not in OURS:
            raise PycodeError(f"{module} is not ours")
        return for_module(module)

    ModuleAnalyzer.for_module = of_ours


def _call_variables_attributes() -> None:
    from sphinx.domains.python import PyObject

    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"


def setup(app: Any) -> None:
    """Put the directives into each page that Sphinx reads; what this replaces in Sphinx ends with the build."""
    _skip_other_modules()
    _call_variables_attributes()
    app.connect("source-read", _add_reference)
    app.connect("autodoc-process-docstring", _shorten)
