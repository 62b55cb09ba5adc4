import errno
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from training.runtime import checkpoint, rank_checkpoint
from training.runtime.errors import UserError
from training.runtime.rank_checkpoint import check_arrays, check_folder, check_settings, names_of, resume

METADATA = {
    "settings": {"--seed": 1},
    "world_size": 1,
    "names": ["weights:0"],
    "position": {"step": 1, "epoch": 0, "segments": [[1, 8, 1]]},
}


def weights() -> tf.Variable:
    return tf.Variable([0.0, 0.0], name="weights")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be the only rank, without Horovod."""
    monkeypatch.setattr(hvd, "rank", lambda: 0)
    monkeypatch.setattr(hvd, "size", lambda: 1)
    monkeypatch.setattr(hvd, "broadcast_variables", lambda variables, root_rank: None)
    monkeypatch.setattr(rank_checkpoint, "on_rank_zero", lambda action: action())


@pytest.mark.usefixtures("alone")
def test_accepts_all_that_programs_write(tmp_path: Path) -> None:
    metadata = {
        **METADATA,
        "names": [],
        "skipped": {"train": [3], "validation": []},
        "training_images": 9,
        "dataset": {"train-00000-of-00001": "9 records, 90 bytes, 0"},
        "results": {"wall_seconds": 1.5, "trained_images": 8, "accuracy": math.nan, "history": [{"epoch": 1}]},
        "epoch_losses": {"weight": 1.0, "training": 2.5},
    }
    write(tmp_path, [], metadata)
    assert resume(tmp_path, [], {"--seed": 1}).keys() == metadata.keys()


def write(output: Path, arrays: Sequence[NDArray[Any]], metadata: Mapping[str, Any]) -> None:
    state = checkpoint.Checkpoint(step=1, arrays=arrays, metadata=dict(metadata))
    checkpoint.save(output / "checkpoints", state)


def test_accepts_the_same_settings() -> None:
    check_settings(Path("out"), {"--seed": 1}, {"--seed": 1})


def test_rejects_the_checkpoints_of_another_program() -> None:
    with pytest.raises(UserError, match="the checkpoints in out are those of another program; give another"):
        check_settings(Path("out"), {"--seed": 1, "--optimizer": "sgd"}, {"--seed": 1, "--strategy": "horovod"})


def test_a_new_option_is_named_as_what_older_checkpoints_lack() -> None:
    older = r"those of a version of this program without --optimizer, or of another program; resume with that one, or"
    with pytest.raises(UserError, match=older):
        check_settings(Path("out"), {"--seed": 1, "--optimizer": "sgd"}, {"--seed": 1})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"--seed": 1, "--batch-size": 16},
            "'--seed' is 1, but the checkpoints in out were written with --seed 0; "
            "give --seed 0 to resume that run, or another output folder to start a new one",
        ),
        (
            {"--seed": 1, "--batch-size": 8},
            "'--seed' is 1 and '--batch-size' is 8, but the checkpoints in out were written with "
            "--seed 0 --batch-size 16; give --seed 0 --batch-size 16 to resume that run, "
            "or another output folder to start a new one",
        ),
    ],
)
def test_rejects_other_settings_with_both_values(given: dict[str, float], message: str) -> None:
    with pytest.raises(UserError) as caught:
        check_settings(Path("out"), given, {"--seed": 0, "--batch-size": 16})
    assert str(caught.value) == message


@pytest.mark.usefixtures("alone")
def test_sets_the_variables_and_returns_the_metadata(tmp_path: Path) -> None:
    write(tmp_path, [np.ones(2, np.float32), np.array([[5, 6]], np.float32)], METADATA)
    variable, own = weights(), tf.Variable([0.0, 0.0])
    assert resume(tmp_path, [variable], {"--seed": 1}, per_rank=[own], names=["position"]) == METADATA
    assert (variable.numpy().tolist(), own.numpy().tolist()) == ([1, 1], [5, 6])


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {**METADATA, "settings": None},
        {name: value for name, value in METADATA.items() if name != "world_size"},
        {name: value for name, value in METADATA.items() if name != "position"},
        {name: value for name, value in METADATA.items() if name != "names"},
        {**METADATA, "names": [1]},
        {**METADATA, "world_size": "1"},
        {**METADATA, "position": {"step": 1, "epoch": 0, "segments": [[1, 8]]}},
        {**METADATA, "skipped": {}},
        {**METADATA, "skipped": {"train": [1], "validation": None}},
        {**METADATA, "skipped": {"train": ["1"], "validation": []}},
        {**METADATA, "training_images": "9"},
        {**METADATA, "dataset": 3},
        {**METADATA, "dataset": {"train-00000-of-00001": 3}},
        {**METADATA, "results": None},
        {**METADATA, "results": {"wall_seconds": "3"}},
        {**METADATA, "results": {"history": 3}},
        {**METADATA, "epoch_losses": [1]},
        {**METADATA, "epoch_losses": {"training": 1.0}},
        {**METADATA, "epoch_losses": {"weight": 1, "training": "1"}},
    ],
    ids=str,
)
def test_rejects_metadata_of_another_program(tmp_path: Path, metadata: dict[str, Any]) -> None:
    write(tmp_path, [np.ones(2, np.float32)], metadata)
    with pytest.raises(UserError, match=f"the checkpoints in {tmp_path} are those of another program; give another"):
        resume(tmp_path, [weights()], {"--seed": 1}, names=["position"])


@pytest.mark.usefixtures("alone")
def test_fewer_ranks_get_the_mean_of_the_statistics(tmp_path: Path) -> None:
    write(tmp_path, [np.array([[5, 6], [7, 9]], np.float32)], {**METADATA, "names": []})
    own = tf.Variable([0.0, 0.0])
    resume(tmp_path, [], {"--seed": 1}, per_rank=[own])
    assert own.numpy().tolist() == [6, 7.5]


ROWS = np.zeros((1, 3), np.float32)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "arrays",
    [
        [],
        [ROWS],
        [np.ones(2, np.float32)],
        [np.ones(3, np.float32), ROWS],
        [np.array(["a", "b"]), ROWS],
        [np.ones(2, np.float64), ROWS],
        [np.ones(2, np.float32), ROWS[0]],
        [np.ones(2, np.float32), np.zeros((1, 4), np.float32)],
        [np.ones(2, np.float32), np.float32(0)],
        [np.ones(2, np.float32), np.ones(2, np.float32), ROWS],
    ],
    ids="none rows variables shape words type vector width number more".split(),
)
def test_rejects_arrays_of_another_network(tmp_path: Path, arrays: list[NDArray[Any]]) -> None:
    write(tmp_path, arrays, METADATA)
    with pytest.raises(UserError, match=r"those of another program; give|hold another model or optimizer than"):
        resume(tmp_path, [weights()], {"--seed": 1}, per_rank=[tf.Variable([0.0, 0.0, 0.0])])


@pytest.mark.usefixtures("alone")
def test_variables_of_one_shape_that_changed_places_are_restored_by_their_names(tmp_path: Path) -> None:
    write(tmp_path, [np.ones(2, np.float32), np.full(2, 2, np.float32)], {**METADATA, "names": ["key:0", "query:0"]})
    query, key = tf.Variable([0.0, 0.0], name="query"), tf.Variable([0.0, 0.0], name="key")
    resume(tmp_path, [query, key], {"--seed": 1})
    assert (query.numpy().tolist(), key.numpy().tolist()) == ([2, 2], [1, 1])


@pytest.mark.usefixtures("alone")
def test_two_variables_of_one_name_keep_their_order(tmp_path: Path) -> None:
    names = ["weights:0", "weights:0 2"]
    write(tmp_path, [np.ones(2, np.float32), np.full(2, 2, np.float32)], {**METADATA, "names": names})
    first, second = weights(), weights()
    assert names_of([first, second]) == names
    resume(tmp_path, [first, second], {"--seed": 1})
    assert (first.numpy().tolist(), second.numpy().tolist()) == ([1, 1], [2, 2])


def test_names_that_differ_are_in_the_error() -> None:
    given = {"dense/kernel": np.zeros((2, 3), np.float32), "dense/bias": np.zeros(3, np.float32)}
    written = {"dense/bias": np.zeros(3, np.float32), "dense/kernel": np.zeros((2, 4), np.float32), "step": np.array(1)}
    check_arrays(Path("out"), given, given)
    with pytest.raises(UserError) as found:
        check_arrays(Path("out"), given, written)
    assert str(found.value) == (
        "the checkpoints in out hold another model or optimizer than the script: dense/kernel is float32 of 2x3, and "
        "float32 of 2x4 there; step is missing, and int64 of one value there; start the script that wrote them, or "
        "give another output folder"
    )


@pytest.mark.usefixtures("alone")
def test_a_file_in_the_place_of_the_checkpoints_ends_the_start(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("")
    with pytest.raises(UserError) as caught:
        resume(tmp_path, [], {})
    assert str(caught.value) == (
        f"the output folder is {tmp_path}, where checkpoints is not a folder; rename it, or give another one"
    )


@pytest.mark.usefixtures("alone")
def test_a_folder_in_the_place_of_the_pointer_ends_the_start(tmp_path: Path) -> None:
    (tmp_path / "checkpoints/latest").mkdir(parents=True)
    with pytest.raises(
        UserError, match=f"the output folder is {tmp_path}, where checkpoints/latest is not a file; rename"
    ):
        resume(tmp_path, [], {})


def test_a_folder_of_checkpoints_that_cannot_be_written_ends_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write everywhere, and mounts are not for every user.
    def deny(*, dir: Path) -> None:
        assert dir == tmp_path / "checkpoints"
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", deny)
    with pytest.raises(UserError) as caught:
        check_folder(tmp_path)
    assert str(caught.value) == (
        f"'--output-dir' is {tmp_path}, in whose checkpoints/ user {os.getuid()} cannot write (Permission denied); "
        "give a folder that this user may write to"
    )
