from decimal import Decimal
from typing import Any

import pytest

from training_workloads.manifests.values import amount_of, is_placeholder, value_at


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
        ("-1E2", "-100"),
        ("1e-3", "0.001"),
        ("2Ei", "2305843009213693952"),
        # Kubernetes takes larger numbers for 2^63 - 1.
        ("1e40", "9223372036854775807"),
        ("-" + "9" * 31, "-9223372036854775807"),
    ],
)
def test_amounts_are_read(value: Any, amount: str) -> None:
    assert amount_of(value) == Decimal(amount)


FULL_WIDTH_8 = "\N{FULLWIDTH DIGIT EIGHT}"


def test_a_number_of_any_length_is_read() -> None:
    assert amount_of(10**5000) == Decimal(2**63 - 1)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "$GPUS",
        "8 Gi",
        "8GB",
        "8g",
        None,
        True,
        [],
        {},
        float("nan"),
        float("inf"),
        "1e1000",
        FULL_WIDTH_8,
        "8\n",
    ],
)
def test_other_values_are_not_amounts(value: Any) -> None:
    assert amount_of(value) is None


@pytest.mark.parametrize(
    "value",
    [
        "$N",
        "${GPUS}",
        "$(N)",
        "s3://<bucket>",
        "{{ .Values.n }}",
        "REPLACE_ME",
        "changeme",
        "__NAME__",
        "%NAME%",
        "PLACEHOLDER",
        "your-bucket",
        "YOUR_REGISTRY",
        "CHANGE-ME",
        "TODO",
        "XXX",
        "data.example.com",
        "/path/to/data",
    ],
)
def test_a_text_that_is_filled_in_later_is_a_placeholder(value: str) -> None:
    assert is_placeholder(value)


@pytest.mark.parametrize("value", ["", "image:1", "a < b", "5$", "8Gi", "my_name", 7, None, ["$N"], "ON_DEMAND"])
def test_other_values_are_no_placeholders(value: Any) -> None:
    assert not is_placeholder(value)


@pytest.mark.parametrize(
    "value", ["JOB_NAME", "NAME", "N", "gcr.io/PROJECT/train", "train-USER", "repo:TAG", "a.io/PROJECT/IMAGE:V1"]
)
def test_words_in_capital_letters_of_names_are_placeholders(value: str) -> None:
    assert is_placeholder(value, capitals=True)
    assert not is_placeholder(value)


@pytest.mark.parametrize("value", ["NCCL-tests", "MyJob", "Team/train", "Team/TRAIN:1", "8GB", "train-A100", "8Gi"])
def test_other_capital_letters_of_names_are_mistakes(value: str) -> None:
    assert not is_placeholder(value, capitals=True)


@pytest.mark.parametrize(
    ("path", "value"),
    [((), {"a": [{"b": 1}]}), (("a", 0, "b"), 1), (("a", 1), None), (("a", "b"), None), (("c", "d"), None)],
)
def test_a_value_has_a_path(path: tuple[str | int, ...], value: Any) -> None:
    assert value_at({"a": [{"b": 1}]}, path) == value
