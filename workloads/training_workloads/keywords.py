"""Keywords of a constructor or of an `add_…` method, checked by their types.

`keywords_of` makes the fields of a `Spec` the keywords: a type checker, an editor, `help()` and the API page show each
with its type and its default; docs/adr/0028 says why. `checked` is for keywords that one signature alone states.
"""

import inspect
from collections.abc import Callable, Iterable
from functools import cache, reduce, wraps
from inspect import Parameter, cleandoc
from operator import or_
from textwrap import indent
from types import UnionType
from typing import (
    Annotated,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from pydantic import create_model

from training_workloads.spec import Converted, Spec, field_texts
from training_workloads.validation import Problem, Problems, check

__all__ = ["checked", "keywords_of", "shown_parameters"]

_Keywords = ParamSpec("_Keywords")
_Spec = TypeVar("_Spec")
_Self = TypeVar("_Self")
_Scope = TypeVar("_Scope")
_Result = TypeVar("_Result")
_Method = TypeVar("_Method", bound=Callable[..., Any])

_NOT_CHECKED = ("self", "cls", "scope", "id")


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
            named = _by_name(method, names, given, values) | _popped(values, names)
            check(_valid_scope(named))
            if missing := [name for name in names if name not in named]:
                raise TypeError(f"{method.__qualname__}() is missing the argument '{missing[0]}'")
            return method(**named, **{last.name: self._spec(**values)})

        parameters = [*before, *shown_parameters(self._spec)]
        setattr(with_keywords, "__signature__", signature.replace(parameters=parameters))  # noqa: B010
        with_keywords.__doc__ = _with_fields(method.__doc__, self._spec)
        return with_keywords


def checked(method: _Method) -> _Method:
    """Check the arguments of a method by their types, as the fields of a spec; `scope` and `id` are not checked.

    Args:
        method: The method. It gets the values that the types convert, and its default in place of None.
    """
    signature = inspect.signature(method)
    arguments = {name: each for name, each in signature.parameters.items() if name not in _NOT_CHECKED}
    positional = [name for name, each in signature.parameters.items() if each.kind is Parameter.POSITIONAL_OR_KEYWORD]

    @cache
    def spec() -> type[Spec]:
        # At the first call: an import makes no model that the program does not use.
        hints = get_type_hints(method, include_extras=True)
        fields: Any = {
            name: (hints[name], ... if each.default is Parameter.empty else each.default)
            for name, each in arguments.items()
        }
        return create_model(method.__qualname__, __base__=Spec, **fields)

    @wraps(method)
    def with_checks(*given: Any, **values: Any) -> Any:
        named = _by_name(method, positional, given, values) | values
        fixed = _popped(named, _NOT_CHECKED)
        check(_valid_scope(fixed))
        return method(**fixed, **spec()(**named).given())

    parameters = [each.replace(annotation=_shown_type(each.annotation)) for each in signature.parameters.values()]
    setattr(with_checks, "__signature__", signature.replace(parameters=parameters))  # noqa: B010
    return cast(_Method, with_checks)


def _by_name(method: Any, names: list[str], given: tuple[Any, ...], values: dict[str, Any]) -> dict[str, Any]:
    """Return the positional arguments by their names; more of them, or one that is named too, is Python's TypeError."""
    if len(given) > len(names):
        rest = f"takes {len(names)} positional arguments but {len(given)} were given; give the others by their names"
        raise TypeError(f"{method.__qualname__}() {rest}")
    if twice := set(names[: len(given)]) & values.keys():
        raise TypeError(f"{method.__qualname__}() got multiple values for argument '{min(twice)}'")
    return dict(zip(names, given, strict=False))


def _valid_scope(named: dict[str, Any]) -> Problems:
    """Reject a scope that is no construct or is outside a stack, and an id that the scope has already.

    The CDK would answer with a traceback of JavaScript.
    """
    if "scope" not in named:
        return
    scope, id = named["scope"], named.get("id")
    fix = "give a stack, or a construct in one"
    if not hasattr(scope, "node"):
        yield Problem(path=("scope",), given=scope, fix=fix)
    elif _is_outside_a_stack(scope):
        yield Problem(path=("scope",), given=scope, allowed="resources are in a stack", fix=fix)
    elif id == "":
        yield Problem(path=("id",), given=id, fix="give text, which is the construct's name in its scope")
    elif isinstance(id, str) and scope.node.try_find_child(id) is not None:
        where = scope.node.path or "the scope"
        yield Problem(path=("id",), given=id, allowed=f"{where} has a construct of this id", fix="give another id")


def _is_outside_a_stack(scope: Any) -> bool:
    """Return whether a construct of the AWS CDK has no stack around it; cdk8s has none."""
    around = [
        {base.__name__ for base in type(each).__mro__ if base.__module__ == "aws_cdk"} for each in scope.node.scopes
    ]
    return "Stage" in around[0] and not any("Stack" in each for each in around)


def _popped(values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Take the values that are named though they are positional: scope and id, as with the CDK."""
    return {name: values.pop(name) for name in names if name in values}


def shown_parameters(spec: type[Spec]) -> list[Parameter]:
    """Return the fields of a spec as keyword-only parameters, with the types that a user gives."""
    types, parameters = get_type_hints(spec, include_extras=True), inspect.signature(spec).parameters.values()
    return [each.replace(kind=Parameter.KEYWORD_ONLY, annotation=_shown_type(types[each.name])) for each in parameters]


def _shown_type(annotation: Any) -> Any:
    """Return a type as the user gives it, without the checks in it."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Annotated, Converted):
        return _shown_type(parts[0])
    if origin in (Union, UnionType):
        return reduce(or_, map(_shown_type, parts))
    return annotation


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
