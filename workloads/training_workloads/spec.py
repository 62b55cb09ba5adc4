"""The base of every group of values that a user gives: a section of `cluster.yaml`, the keywords of a construct, a job.

A value is stated once, as a field of a `Spec`: name, type and default there, unit and meaning in the class's docstring.
The type rejects single values, `rules` compare values with each other, and every error is a `Problem`. `keywords_of`
makes the fields the keywords of a constructor or of an `add_…` method.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from inspect import cleandoc
from types import UnionType
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from training_workloads.validation import (
    MISSING,
    InputError,
    OddNumber,
    Problem,
    Problems,
    check,
    enforce,
    is_late,
    known_names,
    shown_type,
)

__all__ = ["Checked", "Converted", "Override", "Spec", "argument_texts", "field_texts", "switch"]

_Rule = TypeVar("_Rule", bound=Callable[[Any], Problems])
_Given = TypeVar("_Given", contravariant=True)
_Kept = TypeVar("_Kept", covariant=True)

# By pydantic's names of its errors: https://docs.pydantic.dev/latest/errors/validation_errors/
_WANTED = {
    "bool_type": "give true or false",
    "dict_type": "give names with their keys",
    "finite_number": "give a number",
    "float_type": "give a number",
    "int_type": "give a whole number",
    "model_type": "give its keys",
    "string_type": "give text",
    "tuple_type": "give a list",
}

# A field of a docstring's section `Attributes`, with the lines that continue it.
_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


class Override(str):
    """A value of the option `-c`; the field decides whether `1.34` is text."""

    __slots__ = ()

    def as_type_of(self, field: FieldInfo | None) -> Any:
        """Return the text for a field with text, else what YAML reads."""
        if field is not None and _is_text(field.annotation):
            quoted = re.fullmatch(r"\s*(['\"])(.*)\1\s*", self)
            return quoted[2] if quoted else self.strip() or None
        # Here, because only the options of an app are YAML.
        from training_workloads.yaml_lines import read_yaml

        try:
            documents = read_yaml(self, strict=True)
        except InputError:
            # The text has the wrong type, and is shown as it is.
            return str(self)
        content = documents[0].content if documents else None
        return str(self) if isinstance(content, OddNumber) else content


class Spec(BaseModel):
    """Values with types, defaults and rules: known names only, no conversions, and None stands for the default.

    A subclass documents its fields in the section `Attributes` of its docstring. Wrong types are reported before the
    rules run, which compare values of the right types.

    Attributes:
        rules: Functions that take the spec and yield problems, one constraint each; those of its bases apply too.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True, allow_inf_nan=False
    )

    rules: ClassVar[tuple[Callable[[Any], Problems], ...]] = ()

    def __init__(self, **values: Any) -> None:
        """Validate the values.

        Raises:
            InputError: One or more values are not allowed.
        """
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise InputError(*_problems(type(self).model_fields, error)) from None

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Validate a mapping, such as the content of a file.

        Args:
            obj: Names and values.
            options: pydantic's own.

        Raises:
            InputError: One or more values are not allowed.
        """
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            raise InputError(*_problems(cls.model_fields, error)) from None

    def __eq__(self, other: object) -> bool:
        # By the fields alone: pydantic compares cached properties too, which may refer to this spec.
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in type(self).model_fields)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self).model_fields:
            kind = type(self).__name__
            raise AttributeError(f"'{name}' of a {kind} does not change; give another {kind}: .replaced({name}=...)")
        super().__setattr__(name, value)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return the same values with some others, validated as by `replaced`.

        Args:
            update: Names and values. Default: none.
            deep: Without an effect, because values do not change.
        """
        return self.replaced(**(update or {}))

    def given(self, of: "type[Spec] | None" = None) -> dict[str, Any]:
        """Return the values that were given, as keywords of another spec or of a construct.

        Args:
            of: A class that this one extends, to return its fields only. Default: all.
        """
        fields = (of or type(self)).model_fields
        return {name: getattr(self, name) for name in fields if name in self.model_fields_set}

    def replaced(self, **values: Any) -> Self:
        """Return the same values with some others, validated.

        Args:
            values: Names and values.

        Raises:
            InputError: One or more values are not allowed.
        """
        return type(self)(**{**self.given(), **values})

    @classmethod
    def rule(cls, function: _Rule) -> _Rule:
        """Apply a rule to the class and to its subclasses: the decorator of the rule's function.

        Args:
            function: Takes the spec and yields problems.
        """
        cls.rules = (*vars(cls).get("rules", ()), function)
        return function

    @model_validator(mode="before")
    @classmethod
    def _as_python(cls, values: Any) -> Any:
        """Return the Python values that the file, the option or the caller means."""
        if isinstance(values, Override):
            values = values.as_type_of(None)
        if not isinstance(values, dict):
            return values
        fields = cls.model_fields
        python = {name: _as_python(value, fields.get(name)) for name, value in values.items()}
        optional = {name for name, field in fields.items() if not field.is_required()}
        return {name: value for name, value in python.items() if value is not None or name not in optional}

    @model_validator(mode="after")
    def _follow_rules(self) -> Self:
        of_all = (rule for kind in reversed(type(self).__mro__) for rule in vars(kind).get("rules", ()))
        # A subclass may repeat the rules of its base.
        enforce(self, dict.fromkeys(of_all))
        return self


class Converted(Generic[_Given, _Kept]):
    """The type of a field that keeps another type than the one that is given: `Converted[ec2.InstanceType | str, str]`.

    It is an annotation only, as a descriptor, by which type checkers know both: the keyword takes the first type, and
    reading the field returns the second. `Checked(…, read=…)` converts.
    """

    def __get__(self, spec: Any, kind: Any) -> _Kept:
        """Return the value that the field keeps."""
        raise NotImplementedError

    def __set__(self, spec: Any, value: _Given) -> None:
        """Take the value that the user gives."""
        raise NotImplementedError


class Checked:
    """A rule as a part of a field's type, in place of pydantic's check: `Annotated[int, Checked(at_least, 1)]`.

    The type stays what mypy and an editor see; the rule decides alone what is accepted, so that objects of the CDK and
    values with special messages need no second check.
    """

    def __init__(
        self,
        rule: Callable[..., Problems],
        *options: Any,
        read: Callable[[Any], Any] | None = None,
        typed: Any = None,
        **named: Any,
    ) -> None:
        """Take a rule.

        Args:
            rule: Takes a name, a value and the options, and yields problems with that name.
            options: Further arguments of the rule.
            read: Converts the value before the rule. Default: no conversion.
            typed: True for pydantic's check of the field's type before the rule, or another type for this check.
                Default: the rule sees values of any type.
            named: Further arguments of the rule, by name.
        """
        self._rule, self._options, self._named = rule, options, named
        self._read, self._typed = read, typed

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return pydantic's schema of a value that the rule checks."""
        schema: CoreSchema = core_schema.any_schema()
        if self._typed is not None:
            schema = handler(source) if self._typed is True else handler.generate_schema(self._typed)
        if self._read:
            schema = core_schema.no_info_before_validator_function(self._read, schema)
        return core_schema.no_info_after_validator_function(self.follow, schema)

    def follow(self, value: Any) -> Any:
        """Return the value.

        Raises:
            InputError: The rule rejects the value.
        """
        check(self._found(value))
        return value

    def _found(self, value: Any) -> Problems:
        for problem in self._rule("", value, *self._options, **self._named):
            allowed = problem.allowed or ("the synthesis must know it" if is_late(value) else "")
            # The name is the field's, which pydantic knows.
            yield replace(problem, path=problem.path[1:], allowed=allowed)

    def wanted(self) -> str:
        """Return the rule's fix for a value that the user omitted; empty if the rule sees values of one type only."""
        return "" if self._typed is not None else next((problem.fix for problem in self._found(MISSING)), "")


def switch(value: Any) -> Any:
    """Return an empty section for True, and none for False."""
    return ({} if value else None) if isinstance(value, bool) else value


def field_texts(spec: type[Spec]) -> dict[str, str]:
    """Return the text of each documented field, in the order of the fields; a subclass can document one anew."""
    texts: dict[str, str] = {}
    for each in reversed(spec.__mro__):
        texts |= _texts(each, "Attributes")
    return {name: texts[name] for name in spec.model_fields if name in texts}


def argument_texts(function: Any) -> dict[str, str]:
    """Return the text of each documented argument of a function."""
    return _texts(function, "Args")


def _texts(documented: Any, section: str) -> dict[str, str]:
    _, _, text = cleandoc(documented.__doc__ or "").partition(f"\n{section}:\n")
    # Up to the next section.
    text = re.split(r"^\S", text, maxsplit=1, flags=re.MULTILINE)[0]
    return {name: re.sub(r"\s+", " ", words) for name, words in _ATTRIBUTE.findall(text)}


def _is_text(annotation: Any) -> bool:
    """Return whether a field takes text, by its type or by one of a union."""
    if get_origin(annotation) in (Annotated, Converted):
        return _is_text(get_args(annotation)[0])
    return annotation is str or (
        get_origin(annotation) in (Union, UnionType) and any(map(_is_text, get_args(annotation)))
    )


def _as_python(value: Any, field: FieldInfo | None) -> Any:
    value = value.as_type_of(field) if isinstance(value, Override) else value
    value = tuple(value) if isinstance(value, list) else value
    return value if field is None else _with_keywords(value, field.annotation)


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Spec)


def _with_keywords(value: Any, annotation: Any) -> Any:
    """Return a value whose specs have text as keys, which pydantic makes keywords: 1 is a key that no spec knows."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if isinstance(value, dict) and _is_section(annotation):
        return {str(key): each for key, each in value.items()}
    if isinstance(value, dict) and origin is dict:
        return {key: _with_keywords(each, parts[1]) for key, each in value.items()}
    if isinstance(value, tuple) and origin is tuple:
        return tuple(_with_keywords(each, parts[0]) for each in value)
    if origin in (Union, UnionType):
        return reduce(_with_keywords, parts, value)
    return value


def _problems(fields: dict[str, FieldInfo], error: ValidationError) -> Iterator[Problem]:
    for details in error.errors(include_url=False):
        path, given = tuple(part for part in details["loc"] if part != "[key]"), details["input"]
        match details["type"]:
            case "value_error":
                # Of a rule, or of a spec within this one.
                yield from (problem.under(*path) for problem in details["ctx"]["error"].problems)
            case "extra_forbidden":
                fix = known_names(str(path[-1]), fields)
                yield Problem(path=path, given=given, allowed="there is no such key", fix=fix)
            case "missing":
                yield Problem(path=path, given=MISSING, fix=_omitted(fields[str(path[0])]))
            case _ if not path:
                # The whole spec, which has no name.
                yield Problem(path=("obj",), given=given, fix="give names and values, as a dict")
            case _:
                yield Problem(path=path, given=given, fix=_wanted(details, fields[str(path[0])]))


def _omitted(field: FieldInfo) -> str:
    """Return what to give for a value that the user omitted."""
    fixes = (each.wanted() for each in field.metadata if isinstance(each, Checked) and not field.examples)
    return next(filter(None, fixes), f"add it{_example(field)}")


def _wanted(details: ErrorDetails, field: FieldInfo) -> str:
    """Return what to give instead of a value of another type."""
    given, kind = details["input"], details["type"]
    if kind == "bool_type":
        return _WANTED[kind]
    if kind == "literal_error":
        return "give one of " + ", ".join(re.findall(r"'([^']*)'", details["ctx"]["expected"]))
    if kind == "is_instance_of":
        return f"give {shown_type(details['ctx']['class'])}"
    wanted = _words(details, field)
    quoted = kind == "string_type" and isinstance(given, bool | int | float | OddNumber)
    if quoted:
        wanted += " in quotes"
    elif kind == "tuple_type" and isinstance(given, str) and str in get_args(field.annotation):
        items = re.findall(r"[^,\s]+", given)
        return f"{wanted}: {items}"
    in_list = isinstance(details["loc"][-1], int)
    return f"{wanted}{_example(field, in_list=in_list, quoted=quoted)}"


def _words(details: ErrorDetails, field: FieldInfo) -> str:
    """Return the type that a field wants, in the imperative."""
    match details["type"]:
        case "dict_type" if not any(map(_is_section, get_args(field.annotation))):
            return "give names with their values"
        case "model_type" if BeforeValidator(switch) in field.metadata:
            return "give true for the defaults, or its keys"
        # No section of a file, which has examples.
        case "model_type" if not field.examples:
            return f"give {shown_type(details['ctx']['class_name'])}, or its keys"
        case kind:
            # pydantic's words for the types that no spec of ours has: "Input should be a valid set".
            return _WANTED.get(kind) or details["msg"].replace("Input should be", "give").replace("a valid", "a")


def _example(field: FieldInfo, *, in_list: bool = False, quoted: bool = False) -> str:
    """Return a value of the field, or an item of it where that is a list, for the end of a sentence."""
    examples = field.examples or ([field.default] if isinstance(field.default, str | int) else [])
    if not examples:
        return ""
    example = str(examples[0])
    if in_list:
        first = re.match(r"\{[^}]*\}|[^,\]]+", example.removeprefix("["))
        example = first[0] if first else example
    return f', such as "{example}"' if quoted else f", such as {example}"
