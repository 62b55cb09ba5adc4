from pathlib import Path

import pytest

from training.runtime.errors import UserError
from training.runtime.rank_checkpoint import check_settings


def test_accepts_the_same_settings() -> None:
    check_settings(Path("out"), {"--seed": 1}, {"--seed": 1})


def test_rejects_the_checkpoints_of_another_program() -> None:
    with pytest.raises(UserError, match="the checkpoints in out are those of another program; give another"):
        check_settings(Path("out"), {"--seed": 1, "--optimizer": "sgd"}, {"--seed": 1})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"--seed": 1, "--batch-size": 16},
            "'--seed' is 1, but the checkpoints in out were written with --seed 0; "
            "give --seed 0 to resume that run, or another '--output-dir' to start a new one",
        ),
        (
            {"--seed": 1, "--batch-size": 8},
            "'--seed' is 1 and '--batch-size' is 8, but the checkpoints in out were written with "
            "--seed 0 --batch-size 16; give --seed 0 --batch-size 16 to resume that run, "
            "or another '--output-dir' to start a new one",
        ),
    ],
)
def test_rejects_other_settings_with_both_values(given: dict[str, float], message: str) -> None:
    with pytest.raises(UserError) as caught:
        check_settings(Path("out"), given, {"--seed": 0, "--batch-size": 16})
    assert str(caught.value) == message
