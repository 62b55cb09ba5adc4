import json
import os
from pathlib import Path
from typing import Any

import pytest

from training.pods.sagemaker_folders import Folders, Hosts
from training.runtime.errors import UserError

# As SageMaker writes it, in any order.
RESOURCES = {
    "current_group_name": "homogeneousCluster",
    "current_host": "algo-2",
    "current_instance_type": "ml.p4d.24xlarge",
    "hosts": ["algo-2", "algo-1", "algo-3"],
    "instance_groups": [],
    "network_interface_name": "eth0",
}


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    (tmp_path / "input/config").mkdir(parents=True)
    return Folders(tmp_path)


def write(folders: Folders, name: str, content: Any) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (folders.root / "input/config" / name).write_text(text)


def test_the_order_of_hosts_is_that_of_their_names(folders: Folders) -> None:
    write(folders, "resourceconfig.json", RESOURCES)
    hosts = folders.hosts()
    assert hosts == Hosts(name="algo-2", names=("algo-1", "algo-2", "algo-3"), interface="eth0")
    assert hosts.number == 1


@pytest.mark.parametrize("missing", ["current_host", "hosts", "network_interface_name"])
def test_a_file_of_another_content_is_rejected(folders: Folders, missing: str) -> None:
    write(folders, "resourceconfig.json", {name: value for name, value in RESOURCES.items() if name != missing})
    with pytest.raises(UserError, match=r"resourceconfig.json is .*; give 'hosts', one of them as 'current_host'"):
        folders.hosts()


@pytest.mark.parametrize("hosts", ["algo-2", ["algo-1"], ["algo-2", 3], ["algo-1", "algo-2", "algo-2"]])
def test_hosts_that_are_no_different_names_with_this_one_are_rejected(folders: Folders, hosts: Any) -> None:
    write(folders, "resourceconfig.json", RESOURCES | {"hosts": hosts})
    with pytest.raises(UserError, match=r"resourceconfig.json is .*; give 'hosts', one of them as 'current_host'"):
        folders.hosts()


def test_a_start_outside_of_sagemaker_is_rejected(folders: Folders) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file or directory; SageMaker writes it, so start"):
        folders.hosts()


def test_hyperparameters_become_options_in_the_same_order_on_every_host(folders: Folders) -> None:
    write(folders, "hyperparameters.json", {"epochs": "90", "deterministic": "", "batch-size": "256", "offset": "-1"})
    assert folders.hyperparameters() == ["--batch-size", "256", "--deterministic", "--epochs", "90", "--offset=-1"]


def test_what_a_tuning_job_adds_is_no_option(folders: Folders) -> None:
    write(folders, "hyperparameters.json", {"epochs": "90", "_tuning_objective_metric": "accuracy"})
    assert folders.hyperparameters() == ["--epochs", "90"]


def test_a_job_without_hyperparameters_has_no_options(folders: Folders) -> None:
    assert folders.hyperparameters() == []


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({"epochs": 90}, "has 'epochs' with 90; give a text"),
        ("{", "is no JSON"),
        ([1], r"is \[1\]; give an object"),
    ],
)
def test_hyperparameters_of_another_form_are_rejected(folders: Folders, content: Any, error: str) -> None:
    write(folders, "hyperparameters.json", content)
    with pytest.raises(UserError, match=error):
        folders.hyperparameters()


def test_folders_are_made_and_checked_where_the_program_names_them(folders: Folders) -> None:
    assert folders.unwritable(["python", f"--output-dir={folders.checkpoints}/run"]) is None
    assert folders.checkpoints.is_dir()
    assert not folders.model.exists()
    assert [path for path in folders.root.rglob("*") if path.is_file()] == []


def test_a_folder_that_is_not_writable_is_named(folders: Folders) -> None:
    # Root may write anywhere, but not into a file.
    (folders.root / "output").mkdir()
    folders.data.write_text("")
    problem = folders.unwritable(["python"])
    assert problem is not None
    assert problem.startswith(f"user {os.getuid()} cannot write in {folders.data} (File exists); ")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_than_root_learns_which_image_it_needs(folders: Folders) -> None:
    folders.checkpoints.mkdir()
    folders.data.mkdir(parents=True)
    folders.data.chmod(0o777)
    for folder in [*folders.root.parents, folders.root]:
        if folder.is_relative_to(folders.root.parents[2]):
            folder.chmod(0o755)
    read_end, write_end = os.pipe()
    if (child := os.fork()) == 0:
        os.setuid(1000)
        os.write(write_end, (folders.unwritable(["python"]) or "").encode())
        os._exit(0)
    os.waitpid(child, 0)
    problem = os.read(read_end, 65536).decode()
    os.close(read_end)
    os.close(write_end)
    assert problem == (
        f"user 1000 cannot write in {folders.checkpoints} (Permission denied); SageMaker's folders belong to root: "
        "give an image whose user is root (a Dockerfile with the lines 'FROM <image>' and 'USER 0:0')"
    )


def test_a_reason_is_printed_and_kept_as_long_as_sagemaker_shows(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    folders.fail("ü" * 3000)
    assert (folders.root / "output/failure").read_text() == "ü" * 1024
    assert capsys.readouterr().err == f"error: {'ü' * 3000}\n"


def test_results_are_handed_over_without_checkpoints_and_locks(folders: Folders) -> None:
    for name in (
        "run/results.json",
        "run/results.json.sagemaker-uploaded",
        "run/model.keras.sagemaker-uploading",
        "run/curve.svg",
        "run/model.keras",
        "run/tensorboard/events.out",
        "run/.run-lock",
        "run/checkpoints/latest",
        "run/checkpoints/step-00000001.checkpoint",
    ):
        (folders.checkpoints / name).parent.mkdir(parents=True, exist_ok=True)
        (folders.checkpoints / name).write_text(name)
    folders.hand_over()
    data = {str(path.relative_to(folders.data)) for path in folders.data.rglob("*") if path.is_file()}
    assert data == {"run/results.json", "run/curve.svg", "run/tensorboard/events.out"}
    assert [path.name for path in (folders.model / "run").iterdir()] == ["model.keras"]
    assert (folders.model / "run/model.keras").read_text() == "run/model.keras"


def test_a_run_in_the_folder_itself_is_handed_over(folders: Folders) -> None:
    (folders.checkpoints / "checkpoints").mkdir(parents=True)
    (folders.checkpoints / "checkpoints/latest").write_text("")
    (folders.checkpoints / "results.json").write_text("{}")
    folders.hand_over()
    assert [path.name for path in folders.data.rglob("*")] == ["results.json"]


def test_results_that_cannot_be_copied_are_a_warning(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    folders.checkpoints.mkdir()
    (folders.checkpoints / "results.json").write_text("{}")
    folders.data.mkdir(parents=True)
    (folders.data / "results.json").mkdir()
    folders.hand_over()
    assert capsys.readouterr().err.startswith(f"warning: not all results are in {folders.data}: ")


def test_without_checkpoints_there_is_nothing_to_hand_over(folders: Folders) -> None:
    folders.hand_over()
    assert not folders.data.exists()
