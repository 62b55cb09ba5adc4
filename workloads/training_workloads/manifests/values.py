"""Values of a manifest: a wrong shape reads as empty or missing, and never raises."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from training_workloads.validation import Path

__all__ = [
    "AMOUNT",
    "AMOUNT_KINDS",
    "GI",
    "MI",
    "amount_of",
    "is_placeholder",
    "mapping",
    "names_placeholder",
    "sequence",
    "value_at",
    "whole",
]

#: Bytes of `1Mi` and `1Gi`.
MI = 2**20
GI = 2**30

#: The fields of a container's `resources` with amounts.
AMOUNT_KINDS = ("requests", "limits")

#: A text that is an amount, as https://github.com/kubernetes/apimachinery/blob/v0.35.0/pkg/api/resource/quantity.go
#: documents it. The parser also reads 'Gi' and '.' as zero, and narrows an exponent of ten digits to another one:
#: mistakes, which are rejected. The official client has a parser too, but its import takes seconds.
AMOUNT = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,3})?$"
_AMOUNT = re.compile(AMOUNT)

_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

# `$N`, `${N}`, `$(N)`; `<your-bucket>`; `{{ n }}`; `__N__`; `%N%`; words that ask for a value; names of examples.
_PLACEHOLDER = re.compile(
    r"\$[A-Za-z_{(]|<[^<>]+>|\{\{|__\w+__|%[A-Z_]+%|@[A-Z_]+@"
    r"|(?<![a-z])(REPLACE|CHANGE|FILL)[-_ ]?(ME|WITH|THIS|IT|IN)(?![a-z])|(?<![a-z])(YOUR|PLACEHOLDER)"
    r"|(?<![a-z])(TODO|TBD|FIXME|XXX+)(?![a-z])|(?<![a-z])INSERT[-_]"
    r"|(?<![-\w])([-\w]+\.)*example\.(com|org|net|io)\b|(^|/)path/to(/|$)",
    re.IGNORECASE,
)
# In names, images and amounts no word has capital letters only: `JOB_NAME`, `gcr.io/PROJECT/train`, `train-USERNAME`.
_IN_CAPITALS = re.compile(
    r"(?<![^/.:@])([A-Z]{2,}([-_]+[A-Z]+)*|^[A-Z]$)(?![^/.:@])|(?<![A-Za-z0-9])[A-Z]+(_[A-Z]+)+(?![a-z0-9])"
    r"|(?<![A-Za-z0-9])(?=[a-z]*[A-Z]{2})(?i:NAME|USER|USERNAME|NAMESPACE|PROJECT|ACCOUNT|REGISTRY|REPO|REPOSITORY"
    r"|REGION|TAG|VERSION)(?![A-Za-z0-9])"
)
# A tag may have capital letters.
_TAG = re.compile(r":[^/]*$")

# Kubernetes takes a larger number for this one (quantity.go).
_LARGEST = Decimal(2**63 - 1)


def amount_of(value: Any) -> Decimal | None:
    """Return the amount of a value in a manifest.

    Args:
        value: A number, or a string such as `5120Mi`.

    Returns:
        The amount in the resource's own unit (bytes for memory); None where the value is not a quantity.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    # str raises an error for a whole number of thousands of digits.
    matched = _AMOUNT.fullmatch(str(Decimal(value)) if isinstance(value, int) else str(value))
    if not matched:
        return None
    suffix = matched[3] or ""
    is_power = suffix[:1] in ("e", "E") and len(suffix) > 1 and suffix != "Ei"
    power = int(suffix[1:]) if is_power else _DECIMAL.get(suffix, 0)
    unit = Decimal(2) ** _BINARY.get(suffix, 0) * Decimal(10) ** power
    amount = Decimal(matched.string.removesuffix(suffix)) * unit
    return max(-_LARGEST, min(amount, _LARGEST))


def is_placeholder(value: Any, *, capitals: bool = False) -> bool:
    """Return whether a text has a part that is filled in later, such as by envsubst: it may stand for any value.

    Args:
        value: A value of a manifest.
        capitals: Whether a word in capital letters is such a part too: in names, images, amounts and addresses, which
            have none. Fields with words to choose from have some.
    """
    if not isinstance(value, str):
        return False
    return bool(_PLACEHOLDER.search(value)) or (capitals and _has_words_in_capitals(value))


def _has_words_in_capitals(value: str) -> bool:
    """Return whether a text has words in capital letters, and no other ones with some: `Team/TRAIN` is a mistake."""
    rest = _TAG.sub("", _IN_CAPITALS.sub("", value))
    return bool(_IN_CAPITALS.search(value)) and not any(map(str.isupper, rest))


def names_placeholder(*names: Any) -> bool:
    """Return whether one of some names, which are compared, is filled in later."""
    return any(is_placeholder(name, capitals=True) for name in names)


def mapping(value: Any) -> Mapping[Any, Any]:
    """Return the value, or an empty mapping where it is not a mapping."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: Any) -> list[Any]:
    """Return the value, or an empty list where it is not a list."""
    return value if isinstance(value, list) else []


def value_at(value: Any, path: Path) -> Any:
    """Return the value at a path; None where there is none."""
    for key in path:
        if isinstance(value, list) and isinstance(key, int):
            value = value[key] if key < len(value) else None
        else:
            value = mapping(value).get(key)
    return value


def whole(value: Any) -> int | None:
    """Return the value where it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
