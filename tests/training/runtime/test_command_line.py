from dataclasses import asdict

import pytest

from training.digits.__main__ import parse
from training.runtime.errors import UserError


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--seed", "4294967296", "'--seed' is 4294967296; give 4294967295 or less"),
        ("--batch-size", "0", "'--batch-size' is 0; give 1 or more"),
        ("--batch-size", "many", "'--batch-size' is 'many'; give a whole number, 1 or more"),
        ("--batch-size", "1.5", "'--batch-size' is '1.5'; give a whole number, 1 or more"),
        ("--epochs", "0", "'--epochs' is 0; give 1 or more"),
        ("--warmup-epochs", "-1", "'--warmup-epochs' is -1; give 0 or more"),
        ("--seed", "-3", "'--seed' is -3; give 0 or more"),
        ("--learning-rate", "-0.1", "'--learning-rate' is -0.1; give a number above 0"),
        ("--learning-rate", "0", "'--learning-rate' is 0; give a number above 0"),
        ("--learning-rate", "nan", "'--learning-rate' is nan; give a number above 0"),
        ("--learning-rate", "fast", "'--learning-rate' is fast; give a number above 0"),
    ],
)
def test_rejects_a_wrong_value_with_the_allowed_ones(option: str, value: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(["--output-dir", "out", option, value])
    assert str(caught.value) == message


def test_output_folder_is_required() -> None:
    with pytest.raises(UserError) as caught:
        parse([])
    assert str(caught.value) == "the following arguments are required: --output-dir"


def test_defaults_of_the_digits() -> None:
    given = asdict(parse(["--output-dir", "out"]))
    assert {name: value for name, value in given.items() if name != "output_dir"} == {
        "epochs": 12,
        "batch_size": 16,
        "learning_rate": 0.015,
        "warmup_epochs": 3,
        "seed": 0,
    }
