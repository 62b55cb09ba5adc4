from dataclasses import asdict

import pytest

from training.digits.__main__ import parse
from training.resnet50 import __main__ as resnet50
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
        ("--learning-rate", "1_0", "'--learning-rate' is 1_0; give a number above 0"),
        ("--output-dir", "", "'--output-dir' is empty; give a path, or set the variable that it comes from"),
    ],
)
def test_rejects_a_wrong_value_with_the_allowed_ones(option: str, value: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(["--output-dir", "out", option, value])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--precision", "fp16"], "'--precision' is 'fp16'; give mixed_float16 or float32"),
        (["--cache", "on"], "'--cache' is 'on'; give off, records or decoded"),
        (["--decode"], "'--decode' has no value; give '--decode <value>'"),
        (["--lr", "0.1"], "'--lr' is not an option; did you mean '--learning-rate'?"),
        (["--wamup-epochs", "2"], "'--wamup-epochs' is not an option; did you mean '--warmup-epochs'?"),
        (["--checkpoint", "5min"], "'--checkpoint' is not an option; did you mean '--checkpoint-every'?"),
        (["--qqq"], "'--qqq' is not an option; '--help' lists them"),
        (["extra"], "'extra' belongs to no option; '--help' lists them"),
        (
            ["--checkpoint-every", "-5min"],
            "'--checkpoint-every' is '-5min'; give a whole number of steps, epochs or minutes, such as 500steps, "
            "2epochs or 10min",
        ),
    ],
)
def test_an_error_of_an_invalid_option_or_value_names_the_valid_ones(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        resnet50.parse(["--synthetic", "--output-dir", "out", *arguments])
    assert str(caught.value) == message


@pytest.mark.parametrize(("text", "expected"), [("1e-3", 0.001), (".5", 0.5), ("+2.", 2.0)])
def test_takes_the_usual_forms_of_a_number(text: str, expected: float) -> None:
    assert parse(["--output-dir", "out", "--learning-rate", text]).learning_rate == expected


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
