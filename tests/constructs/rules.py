"""Whether a spec applies every rule, and a test covers it."""

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

Rule = Callable[[Any], Any]


def rules_of(module: ModuleType) -> set[Rule]:
    """Return every public function that a module of rules defines."""
    functions = inspect.getmembers(module, inspect.isfunction)
    return {function for name, function in functions if function.__module__ == module.__name__ and name[0] != "_"}
