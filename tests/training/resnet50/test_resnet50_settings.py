import importlib.util
from pathlib import Path

import horovod.tensorflow as hvd
import pytest

from training.resnet50.__main__ import find_ranks, parse, recipe_of, strategy_of
from training.runtime import options
from training.runtime.errors import UserError


@pytest.fixture(autouse=True)
def _rank_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hvd, "rank", lambda: 0)


def test_defaults_are_the_recipe() -> None:
    given = parse(["--data-dir", "d", "--output-dir", "o"])
    assert (given.data_dir, given.output_dir) == (Path("d"), Path("o"))
    assert (given.epochs, given.batch_size, given.image_size, given.classes) == (90, 256, 224, 1000)
    assert (given.optimizer, given.label_smoothing, given.compression, given.on_bad_data) == (
        "sgd",
        0.1,
        "none",
        "stop",
    )
    assert (given.min_crop_area, given.mirror, given.cache, given.decode) == (0.08, "on", "off", "cpu")
    assert (str(given.checkpoint_every), str(given.evaluate_every)) == ("10min", "1epoch")
    assert (given.keep_checkpoints, given.seed, given.strategy) == (3, 0, "horovod")
    # The device or the optimizer decides them.
    assert [given.precision, given.xla, given.learning_rate, given.warmup_epochs, given.weight_decay] == [None] * 5
    assert given.momentum is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [],
            "neither '--data-dir' nor '--synthetic' is given; give a folder of shards (train-00000-of-01024 …), or of "
            "folders train/<class> and val/<class>, or --synthetic for a test of speed",
        ),
        (["--data-dir", "d", "--synthetic"], "'--data-dir' and '--synthetic' are both given; give one of them"),
        (
            ["--synthetic", "--cache", "decoded"],
            "'--synthetic' and '--cache decoded' are both given; omit one: nothing is read",
        ),
        (
            ["--synthetic", "--cache", "records"],
            "'--synthetic' and '--cache records' are both given; omit one: nothing is read",
        ),
        (
            ["--data-dir", "d", "--decode", "gpu", "--cache", "decoded"],
            "'--decode gpu' and '--cache decoded' are both given; give one of them",
        ),
        (["--synthetic", "--batch-size", "0"], "'--batch-size' is 0; give 1 or more"),
        (["--synthetic", "--image-size", "16"], "'--image-size' is 16; give 32 or more"),
        (["--synthetic", "--label-smoothing", "1"], "'--label-smoothing' is 1; give a number from 0 to 0.9"),
        (["--synthetic", "--weight-decay", "-1"], "'--weight-decay' is -1; give a number from 0 to 1e+09"),
        (["--synthetic", "--momentum", "1"], "'--momentum' is 1; give a number from 0 to 0.999999"),
        (["--synthetic", "--min-crop-area", "0"], "'--min-crop-area' is 0; give a number from 0.01 to 1"),
        (["--synthetic", "--min-crop-area", "8"], "'--min-crop-area' is 8; give a number from 0.01 to 1"),
        (["--synthetic", "--strategy", "nccl"], "'--strategy' is 'nccl'; give horovod or multiworker"),
        (["--synthetic", "--keep-checkpoints", "0"], "'--keep-checkpoints' is 0; give 1 or more"),
        (
            ["--synthetic", "--checkpoint-every", "200"],
            "'--checkpoint-every' is '200'; give a whole number of steps, epochs or minutes, such as 500steps, 2epochs "
            "or 10min",
        ),
    ],
)
def test_rejects_wrong_values(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse([*arguments, "--output-dir", "o"])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("gpu", "given", "precision", "xla"),
    [
        (True, [], "mixed_float16", "on"),
        (False, [], "float32", "off"),
        (True, ["--precision", "float32", "--xla", "off"], "float32", "off"),
        (False, ["--xla", "on"], "float32", "on"),
    ],
)
def test_device_decides_precision_and_compiler_that_are_not_given(
    gpu: bool, given: list[str], precision: str, xla: str
) -> None:
    settings = parse(["--synthetic", "--output-dir", "o", *given]).on_device(gpu=gpu)
    assert (settings.precision, settings.xla) == (precision, xla)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--batch-size", "1"], "'--image-size' is 224: give a smaller one"),
        (["--batch-size", "256"], "'--batch-size' is 256: give 128 or less"),
        (["--batch-size", "1", "--cache", "records"], "'--cache' takes memory of the machine: omit it"),
        (["--batch-size", "1", "--cache", "decoded"], "'--cache' takes memory of the machine: omit it"),
        (
            ["--batch-size", "2", "--precision", "float32"],
            "'--batch-size' is 2: give 1 or less; on a GPU '--precision mixed_float16' halves what the layers keep",
        ),
    ],
)
def test_a_memory_that_does_not_suffice_names_what_to_lower(arguments: list[str], expected: str) -> None:
    given = parse(["--data-dir", "d", "--output-dir", "o", "--precision", "mixed_float16", *arguments])
    assert "; ".join(given.ways_to_less_memory()) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "horovod"),
        (["--epochs", "x", "--strategy", "multiworker"], "multiworker"),
        (["--strategy=multiworker", "--help"], "multiworker"),
        # The ranks report it when they are connected.
        (["--strategy", "nccl"], "horovod"),
        (["--strategy"], "horovod"),
    ],
)
def test_the_strategy_is_found_beside_other_mistakes(arguments: list[str], expected: str) -> None:
    assert strategy_of(arguments) == expected


def test_without_horovod_the_other_strategy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError) as error:
        find_ranks(["--synthetic"])
    assert str(error.value) == "'--strategy' is horovod, which is not installed; give '--strategy multiworker'"


def test_multiworker_is_rejected_in_an_elastic_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOROVOD_RANK", "0")
    with pytest.raises(UserError, match="'--strategy' is multiworker, but horovodrun has started this rank"):
        find_ranks(["--strategy", "multiworker"])


def test_a_run_may_resume_with_another_strategy() -> None:
    learned = []
    for strategy in ("horovod", "multiworker"):
        settings = parse(["--synthetic", "--output-dir", "o", "--strategy", strategy])
        learned.append(options.learned(settings.with_recipe(recipe_of(settings))))
    assert learned[0] == learned[1]


@pytest.mark.parametrize("optimizer", ["sgd", "lars"])
def test_a_run_resumes_only_with_what_changes_what_is_learned(optimizer: str) -> None:
    given = ["--learning-rate", "0.1", "--warmup-epochs", "0", "--weight-decay", "3.05175781e-05", "--momentum", "0.5"]
    settings = parse(["--data-dir", "d", "--output-dir", "o", "--cache", "records", "--optimizer", optimizer, *given])
    settings = settings.on_device(gpu=False)
    assert options.learned(settings.with_recipe(recipe_of(settings))) == {
        "--epochs": 90,
        "--image-size": 224,
        "--classes": 1000,
        "--precision": "float32",
        "--optimizer": optimizer,
        "--learning-rate": 0.1,
        "--warmup-epochs": 0,
        # As it is printed.
        "--weight-decay": 3.05176e-05,
        "--momentum": 0.5,
        "--label-smoothing": 0.1,
        "--min-crop-area": 0.08,
        "--mirror": "on",
        # Records in memory change nothing that is learned.
        "--cache": "off",
        "--decode": "cpu",
        "--seed": 0,
    }
