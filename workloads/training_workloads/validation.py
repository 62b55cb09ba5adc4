"""Errors as data: what is wrong with a value that the user gave, collected by rules and rendered in one place.

A rule is a small generator function that yields a `Problem` for each mistake. `enforce` runs all rules and raises one
`InputError` with every problem. A loader prefixes the path of a problem; a printer renders it as a key, as an option of
the command line or with a file and a line. No code parses a rendered message.
"""

import re
import reprlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

__all__ = [
    "MISSING",
    "InputError",
    "OddNumber",
    "Path",
    "Problem",
    "Problems",
    "above_zero",
    "at_least",
    "check",
    "dotted",
    "enforce",
    "instance_of",
    "is_late",
    "known_names",
    "matches",
    "one_of",
    "shown",
    "shown_type",
    "unknown",
]

_FEW_NAMES = 10
_LONGEST_SHOWN = 400
_DEEPEST_SHOWN = 8
_INT32 = 2**31 - 1

_Subject = TypeVar("_Subject")

#: Keys and list positions from the outermost value down to one value, such as `("node_groups", "gpu", "min_size")`.
Path = tuple[str | int, ...]


class _Missing:
    """The type of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


#: The `given` of a problem with a value that the user omitted.
MISSING: Final = _Missing()

# The `given` of a problem that is a text without a value.
_ONLY_TEXT: Final = object()

_PLAIN = (str, int, float, bool, dict, list, tuple, type(None))

# What AWS CDK writes for a value of the deployment: text with a mark, and a number below every real one.
_TOKENS = ("${Token[", "#{Token[")
_TOKEN_NUMBERS = -1e288
_LATE = "a value that only the deployment knows"


@dataclass(frozen=True, slots=True)
class OddNumber:
    """A number in another notation than plain digits, such as 010, 0x10 or 2:30: neither a number nor text.

    Attributes:
        typed: The number as it was typed.
    """

    typed: str

    def __str__(self) -> str:
        return self.typed


class _Shown:
    """A value within another, in the words of `shown`."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def shown(value: Any) -> str:
    """Return a value as the user typed it, or its type where Python would show an address in memory."""
    if is_late(value):
        return _LATE
    if isinstance(value, _PLAIN):
        # A pod template has pages.
        plain = _with_shown_items(value)
        text = repr(plain)
        return text if len(text) <= _LONGEST_SHOWN else reprlib.repr(plain)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    kind = type(value).__name__
    if kind.endswith("Proxy"):
        # jsii's name for an object of a type that Python does not know.
        return "an object of the CDK"
    return shown_type(kind)


def shown_type(name: str) -> str:
    """Return the name of a type with its article."""
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def is_late(value: Any) -> bool:
    """Return whether only the deployment knows a value, by its form: this package does not import AWS CDK."""
    if isinstance(value, str):
        return any(mark in value for mark in _TOKENS)
    return isinstance(value, float) and value < _TOKEN_NUMBERS


def _with_shown_items(value: Any, depth: int = 0) -> Any:
    # A mapping can contain itself.
    if depth > _DEEPEST_SHOWN:
        return _Shown("...")
    match value:
        case dict():
            return {key: _with_shown_items(each, depth + 1) for key, each in value.items()}
        case list() | tuple():
            # A `Spec` keeps lists as tuples.
            return [_with_shown_items(each, depth + 1) for each in value]
        case _:
            plain = isinstance(value, _PLAIN) and not is_late(value)
            return value if plain else _Shown(shown(value))


def dotted(path: Path) -> str:
    """Return a path as one word: `lustre.data_repositories[0].path`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One value that the user gave and can fix.

    Rendered: `'gpus_per_worker' is 16, but p3dn.24xlarge has 8 GPUs; lower it to 8 or fewer`.

    Attributes:
        path: Where the value is, in the user's words. A rule knows the name of its argument; who calls the rule adds
            what is above it with `under`.
        given: The value, or `MISSING`.
        allowed: The constraint that the value breaks, as a clause after "but". Default: `fix` says it.
        fix: What to do, in the imperative.
        related: Paths of the other values that the rule compared with this one.
        source: Where the user wrote the value, such as `cluster.yaml:12` or `-c nat`. Default: it is an argument.
    """

    path: Path
    given: Any
    fix: str
    allowed: str = ""
    related: tuple[Path, ...] = ()
    source: str = ""

    def under(self, *prefix: str | int) -> "Problem":
        """Return the same problem of a value that is inside another."""
        return replace(self, path=(*prefix, *self.path), related=tuple((*prefix, *path) for path in self.related))

    def text(self, name: str | None = None, given: str | None = None) -> str:
        """Return the problem as one sentence without a final period.

        Args:
            name: The value's name where the user typed it, such as `--min-size`. Default: the dotted path.
            given: The value as the user typed it. Default: as Python shows it.
        """
        if self.given is _ONLY_TEXT:
            return ": ".join(filter(None, [self.source, self.fix]))
        key = name or dotted(self.path)
        # Without a path the file itself has the problem.
        subject = ": ".join(filter(None, [self.source, key and f"'{key}'"])) or "the text"
        verb = "is missing" if self.given is MISSING else f"is {shown(self.given) if given is None else given}"
        clause = f", but {self.allowed}" if self.allowed else ""
        return f"{subject} {verb}{clause}; {self.fix}"

    def __str__(self) -> str:
        return self.text()


def _with_text(text: str) -> Problem:
    return Problem(path=(), given=_ONLY_TEXT, fix=" ".join(text.split()))


#: What a rule yields.
Problems = Iterator[Problem]


class InputError(ValueError):
    """Values that the user gave and can fix. The command line shows each problem on a line, without a traceback."""

    def __init__(self, *problems: Problem | str) -> None:
        """Take problems; a text, as other programs raise it, is one without a value."""
        super().__init__(*(_with_text(each) if isinstance(each, str) else each for each in problems))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every problem, in the order in which the rules found them."""
        return self.args

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


def known_names(value: str, known: Iterable[str]) -> str:
    """Return the closest known names as a fix, or all if none is close.

    Args:
        value: What the user gave.
        known: Every allowed name; at least one, in the order in which the close ones are shown.
    """
    names = list(known)
    close = _meant(str(value).strip().lower(), names)
    hint = f"did you mean {' or '.join(close)}?" if close else ""
    # A long list hides the answer.
    if not close or len(names) <= _FEW_NAMES:
        hint = f"{hint} known: {', '.join(sorted(names))}".strip()
    return hint


def _meant(value: str, names: list[str]) -> list[str]:
    """Return the name itself in other letters, else the names that begin with it, else those that look like it."""
    same = [name for name in names if name.lower() == value]
    # Here, because only a mistake needs it.
    from difflib import get_close_matches

    # Of p5 the sizes of that family (p5.48xlarge), not of another (p5en.48xlarge).
    family = [name for name in names if name.startswith(f"{value}.")]
    longer = [name for name in names if len(value) > 1 and name.startswith(value)]
    started = family or longer
    return same or (started if len(started) <= _FEW_NAMES else []) or get_close_matches(value, sorted(names), n=3)


def check(*found: Iterable[Problem]) -> None:
    """Raise the problems of several rules at once.

    Args:
        found: What each rule yields. Two rules may find the same problem, such as an unknown name: it is raised once.

    Raises:
        InputError: A rule found a problem.
    """
    problems: dict[str, Problem] = {}
    for each in found:
        for problem in _listed(each):
            problems.setdefault(str(problem), problem)
    if problems:
        raise InputError(*problems.values())


def _listed(found: Iterable[Problem]) -> Iterable[Problem]:
    try:
        return list(found)
    except InputError as error:
        # A rule may build something that has rules.
        return error.problems


def enforce(subject: _Subject, rules: Iterable[Callable[[_Subject], Iterable[Problem]]]) -> None:
    """Run every rule on what the user described, and raise all problems at once.

    Args:
        subject: What the user described.
        rules: Small generator functions, one constraint each.

    Raises:
        InputError: One or more rules found a problem.
    """
    check(*(rule(subject) for rule in rules))


def at_least(name: str, value: Any, minimum: int, maximum: int = _INT32, reason: str = "") -> Problems:
    """Reject a value that is not a whole number from `minimum` to `maximum`.

    Args:
        name: The argument, as the user typed it.
        value: What they gave.
        minimum: The smallest allowed number.
        maximum: The largest allowed number. Default: that of Kubernetes' 32-bit fields.
        reason: Why no number is larger, as a clause after "but". Default: none is shown.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        yield Problem(path=(name,), given=value, fix=f"give a whole number, {minimum} or more")
    elif value < minimum:
        yield Problem(path=(name,), given=value, fix=f"give {minimum} or more")
    elif value > maximum:
        yield Problem(path=(name,), given=value, allowed=reason, fix=f"give {maximum} or less")


def above_zero(name: str, value: Any) -> Problems:
    """Reject anything but a finite number above 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and 0 < value < sys.float_info.max):
        yield Problem(path=(name,), given=value, fix="give a number above 0")


def one_of(name: str, value: Any, allowed: Iterable[Any]) -> Problems:
    """Reject a value that is not in a list; 1 is not True."""
    choices = list(allowed)
    if not any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in choices):
        yield Problem(path=(name,), given=value, fix=f"give one of {', '.join(map(str, choices))}")


def matches(name: str, value: Any, pattern: str, rule: str) -> Problems:
    """Reject a value that is not a string of a certain form.

    Args:
        name: The argument, as the user typed it.
        value: What they gave.
        pattern: Regular expression for the whole string.
        rule: The same in words, after "give".
    """
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        yield Problem(path=(name,), given=value, fix=f"give {rule}")


def instance_of(name: str, value: Any, *kinds: type) -> Problems:
    """Reject an object of another type."""
    if not isinstance(value, kinds):
        wanted = " or ".join(f"{kind.__name__}(...)" for kind in kinds)
        yield Problem(path=(name,), given=value, fix=f"give {wanted}")


def unknown(name: str, value: Any, known: Iterable[str]) -> Problems:
    """Reject a name that is not known, with the closest known ones, or with all if none is close."""
    names = list(known)
    if is_late(value):
        fix = f"give one of {', '.join(sorted(names))}"
        yield Problem(path=(name,), given=value, allowed="it decides what is deployed", fix=fix)
    elif value not in names:
        yield Problem(path=(name,), given=value, allowed="it is not known", fix=known_names(str(value), names))
