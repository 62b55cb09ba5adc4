"""Keywords of a constructor or of an `add_…` method that are the fields of a `Spec`, which alone states them.

A type checker, an editor, `help()` and the API page show each field as a keyword, with its type and its default.
docs/adr/0028 says why.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, cleandoc
from textwrap import indent
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from training_workloads.spec import Spec, field_texts

__all__ = ["keywords_of"]

_Keywords = ParamSpec("_Keywords")
_Spec = TypeVar("_Spec")
_Self = TypeVar("_Self")
_Scope = TypeVar("_Scope")
_Result = TypeVar("_Result")


class keywords_of(Generic[_Keywords, _Spec]):
    """Give a method the fields of a spec as keywords, in place of its last parameter, which is the spec.

    ```python
    class NodeGroup(Construct):
        @keywords_of(NodeGroupProps)
        def __init__(self, scope: Construct, id: str, props: NodeGroupProps) -> None: ...

    NodeGroup(stack, "gpu", instance_type="p4d.24xlarge", max_size=4)
    ```

    The method's docstring describes its own parameters; the texts of the fields follow those.
    """

    def __init__(self, spec: Callable[_Keywords, _Spec]) -> None:
        """Take the class of the spec."""
        self._spec: Any = spec

    @overload
    def __call__(
        self, method: Callable[[_Self, _Scope, str, _Spec], _Result]
    ) -> Callable[Concatenate[_Self, _Scope, str, _Keywords], _Result]: ...

    @overload
    def __call__(
        self, method: Callable[[_Self, str, _Spec], _Result]
    ) -> Callable[Concatenate[_Self, str, _Keywords], _Result]: ...

    def __call__(self, method: Any) -> Any:
        """Return the method with keywords."""
        signature = inspect.signature(method)
        *before, last = signature.parameters.values()
        names = [each.name for each in before]

        @wraps(method)
        def with_keywords(*given: Any, **values: Any) -> Any:
            # Scope and id can be named, as with the CDK.
            named = {name: values.pop(name) for name in names[len(given) :] if name in values}
            return method(*given, **named, **{last.name: self._spec(**values)})

        parameters = [*before, *_keyword_parameters(self._spec)]
        setattr(with_keywords, "__signature__", signature.replace(parameters=parameters))  # noqa: B010
        with_keywords.__doc__ = _with_fields(method.__doc__, self._spec)
        return with_keywords


def _keyword_parameters(spec: type[Spec]) -> list[Parameter]:
    """Return the fields of a spec as keyword-only parameters."""
    fields = inspect.signature(spec).parameters.values()
    return [each.replace(kind=Parameter.KEYWORD_ONLY) for each in fields]


def _with_fields(docstring: str | None, spec: type[Spec]) -> str:
    """Return a docstring whose section `Args` has the fields of a spec too."""
    fields = [f"{name}: {text}" for name, text in field_texts(spec).items()]
    before: list[str] = []
    following: list[str] = []
    for section in cleandoc(docstring or "").split("\n\n"):
        behind = following or section.startswith(("Returns:", "Raises:"))
        (following if behind else before).append(section)
    if not before[-1].startswith("Args:"):
        before.append("Args:")
    before[-1] += "\n" + indent("\n".join(fields), "    ")
    return "\n\n".join([*before, *following])
