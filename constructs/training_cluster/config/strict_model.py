"""The base of the configuration's models: pydantic validates the types, and every error is a `Problem`."""

import re
from collections.abc import Iterator
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from training_workloads.validation import MISSING, InputError, Problem, known_names
from training_workloads.yaml_lines import OddNumber, read_yaml

__all__ = ["Override", "StrictModel", "switch"]

# By pydantic's names of its errors: https://docs.pydantic.dev/latest/errors/validation_errors/
_WANTED = {
    "bool_type": "give true or false",
    "dict_type": "write names with their keys below them",
    "int_type": "give a whole number",
    "model_type": "write its keys below it",
    "string_type": "give text",
    "tuple_type": "give a list",
}


class Override(str):
    """A value of the option `-c`; the field decides whether `1.34` is text."""

    __slots__ = ()

    def as_type_of(self, field: FieldInfo | None) -> Any:
        """Return the text for a field with text, else what YAML reads."""
        if field is not None and field.annotation in (str, str | None):
            quoted = re.fullmatch(r"\s*(['\"])(.*)\1\s*", self)
            return quoted[2] if quoted else self.strip() or None
        try:
            documents = read_yaml(self, strict=True)
        except InputError:
            # The text has the wrong type, and is shown as it is.
            return str(self)
        content = documents[0].content if documents else None
        return str(self) if isinstance(content, OddNumber) else content


class StrictModel(BaseModel):
    """A section of the configuration file: known keys only, no conversions, and an empty key has its default."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

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
        """Validate a mapping, such as what a file has.

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

    @model_validator(mode="before")
    @classmethod
    def _as_python(cls, values: Any) -> Any:
        """Return what the file or the option means in Python."""
        if isinstance(values, Override):
            values = values.as_type_of(None)
        if not isinstance(values, dict):
            return values
        fields = cls.model_fields
        python = {name: _as_python(value, fields.get(name)) for name, value in values.items()}
        optional = {name for name, field in fields.items() if not field.is_required()}
        return {name: value for name, value in python.items() if value is not None or name not in optional}


def switch(value: Any) -> Any:
    """Return an empty section for true, and none for false."""
    return ({} if value else None) if isinstance(value, bool) else value


def _as_python(value: Any, field: FieldInfo | None) -> Any:
    value = value.as_type_of(field) if isinstance(value, Override) else value
    return tuple(value) if isinstance(value, list) else value


def _problems(fields: dict[str, FieldInfo], error: ValidationError) -> Iterator[Problem]:
    for details in error.errors(include_url=False):
        path, given = tuple(part for part in details["loc"] if part != "[key]"), details["input"]
        match details["type"]:
            case "value_error":
                # Of a rule, or of a section within this one.
                yield from (problem.under(*path) for problem in details["ctx"]["error"].problems)
            case "extra_forbidden":
                fix = known_names(str(path[-1]), fields)
                yield Problem(path=path, given=given, allowed="there is no such key", fix=fix)
            case "missing":
                yield Problem(path=path, given=MISSING, fix=f"add it{_example(fields[str(path[0])])}")
            case _ if not path:
                # The whole model, which has no name.
                yield Problem(path=("obj",), given=given, fix="give names and values, as a dict")
            case _:
                yield Problem(path=path, given=given, fix=_wanted(details, fields[str(path[0])]))


def _wanted(details: ErrorDetails, field: FieldInfo) -> str:
    """Return what to give instead of a value of another type."""
    given, kind = details["input"], details["type"]
    wanted = _WANTED.get(kind, details["msg"])
    if kind == "bool_type":
        return wanted
    quoted = kind == "string_type" and isinstance(given, bool | int | float | OddNumber)
    if quoted:
        wanted += " in quotes"
    elif kind == "tuple_type" and isinstance(given, str) and str in get_args(field.annotation):
        items = re.findall(r"[^,\s]+", given)
        return f"{wanted}: [{', '.join(items)}]"
    in_list = isinstance(details["loc"][-1], int)
    return f"{wanted}{_example(field, in_list=in_list, quoted=quoted)}"


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
