"""Amounts as Kubernetes writes them: `8`, `500m`, `5120Mi`, `1e3`.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ . The official client has a parser too,
but importing it takes seconds, and the lint runs at every synth.
"""

import re
from decimal import Decimal
from typing import Any

__all__ = ["GI", "MI", "amount_of"]

#: Bytes of `1Mi`.
MI = 2**20

#: Bytes of `1Gi`.
GI = 2**30

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(\d+(\.\d*)?|\.\d+))((?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<power>[+-]?\d+))?"
)

_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

# A quantity holds no more than 2^63 - 1, which has 19 digits; longer ones are no amounts.
_LONGEST = 30


def amount_of(value: Any) -> Decimal | None:
    """The amount that a value in a manifest stands for.

    Args:
        value: A number, or a string such as `5120Mi`.

    Returns:
        The amount in the resource's own unit (bytes for memory); None where the value is no quantity.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > _LONGEST:
        return None
    matched = _QUANTITY.fullmatch(str(value))
    if not matched:
        return None
    number, suffix = Decimal(matched["number"]), matched["suffix"] or ""
    power = int(matched["power"] or _DECIMAL.get(suffix, 0))
    # More than any machine has: Decimal would answer with an error.
    return number * 2 ** _BINARY.get(suffix, 0) * Decimal(10) ** power if abs(power) < _LONGEST else None
