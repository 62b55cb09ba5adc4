"""The API reference: where a page has the comment `<!-- api: MODULE -->`, the site shows the module's public names."""

import importlib
import inspect
import re
import sys
from typing import Any

__all__ = ["setup"]

_MARK = re.compile(r"<!-- api: (?P<module>[\w.]+) -->")

#: Packages whose members are ours: what a class inherits from the CDK is in the CDK's reference.
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


def directives(module: str) -> str:
    """Return autodoc's directives for the public names of a module, without those of the package around it."""
    imported = importlib.import_module(module)
    package = module.rpartition(".")[0]
    around = importlib.import_module(package).__all__ if package else []
    blocks = []
    for name in (name for name in imported.__all__ if name not in around):
        value = getattr(imported, name)
        if inspect.isclass(value):
            _give_signature(value)
            members = ", ".join(own_members(value))
            blocks.append(f".. autoclass:: {module}.{name}" + (f"\n   :members: {members}" if members else ""))
        elif callable(value):
            blocks.append(f".. autofunction:: {module}.{name}")
        else:
            blocks.append(f".. autodata:: {_home(name, value)}.{name}\n   :no-value:")
    return "\n\n".join(blocks)


def _give_signature(kind: type) -> None:
    """Give a class of the CDK's metaclass the arguments of our `__init__`: the metaclass hides them."""
    if type(kind).__module__.split(".")[0] != "jsii":
        return
    ours = (each for each in kind.__mro__ if each.__module__.split(".")[0] in OURS)
    owner = next((each for each in ours if "__init__" in vars(each)), None)
    if owner:
        signature = inspect.signature(vars(owner)["__init__"])
        arguments = [each for name, each in signature.parameters.items() if name != "self"]
        setattr(kind, "__signature__", signature.replace(parameters=arguments))  # noqa: B010


def _home(name: str, value: object) -> str:
    """Return the module that defines a constant: the comment about it is there."""
    ours = [module for key, module in list(sys.modules.items()) if key.split(".")[0] in OURS]
    same = [module for module in ours if vars(module).get(name) is value]
    return next(each.__name__ for each in same if re.search(rf"^{name}\b", inspect.getsource(each), flags=re.M))


def _add_reference(app: Any, name: str, source: list[str]) -> None:
    source[0] = _MARK.sub(lambda match: "```{eval-rst}\n" + directives(match["module"]) + "\n```", source[0])


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


def setup(app: Any) -> None:
    """Put the directives into each page that Sphinx reads."""
    _skip_other_modules()
    app.connect("source-read", _add_reference)
