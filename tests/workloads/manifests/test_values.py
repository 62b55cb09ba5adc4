from decimal import Decimal
from typing import Any

import pytest

from training_workloads.manifests.values import amount_of


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        (8, "8"),
        ("8", "8"),
        (0.5, "0.5"),
        ("500m", "0.5"),
        ("5120Mi", "5368709120"),
        ("5Gi", "5368709120"),
        ("1.5k", "1500"),
        ("1e3", "1000"),
        ("2E", "2000000000000000000"),
        (".5", "0.5"),
        ("-1", "-1"),
    ],
)
def test_amounts_are_read(value: Any, amount: str) -> None:
    assert amount_of(value) == Decimal(amount)


@pytest.mark.parametrize(
    "value", ["", "x", "$GPUS", "8 Gi", "8GB", "8g", None, True, [], {}, float("nan"), float("inf"), "1e99", "9" * 31]
)
def test_other_values_are_not_amounts(value: Any) -> None:
    assert amount_of(value) is None
