"""The problems of a value as a keyword of a type."""

from typing import Any

from pydantic import create_model

from training_workloads.spec import Spec
from training_workloads.validation import InputError, Problem

__all__ = ["problems_of"]


def problems_of(kind: Any, value: Any, name: str = "a") -> tuple[Problem, ...]:
    """Return the problems of a value of a type, as of a keyword with a name."""
    fields: Any = {name: (kind, ...)}
    try:
        create_model("Keywords", __base__=Spec, **fields)(**{name: value})
    except InputError as error:
        return error.problems
    return ()
