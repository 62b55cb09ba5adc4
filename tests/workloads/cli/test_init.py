"""`init`, and `render` in a folder with recipes."""

import errno
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from setup.source_tree import PROJECT
from tests.workloads.cli.conftest import Command, names_in
from training_workloads.cli import init_command
from training_workloads.cli.init_command import FRAMEWORKS, PROJECT_FILES

# Of Horovod alone.
HOROVOD = "requirements-horovod.txt"

NAME_RULE = "give lower-case letters, digits and '-', a letter first and no '-' at the end, at most 63"
PATH_RULE = (
    "it is a path, and the project's job has the name too; go to the folder that contains the project, and give a name "
    "such as my-project"
)


def test_writes_a_project_and_says_what_is_next(command: Command, tmp_path: Path) -> None:
    code, output, errors = command("init", "mine")
    assert (code, errors) == (0, "")
    assert {path.name for path in (tmp_path / "mine").iterdir()} == set(PROJECT_FILES)
    lines = output.splitlines()
    assert [line.split()[0] for line in lines[:-2]] == [f"mine/{file}" for file in PROJECT_FILES]
    assert lines[-1].startswith("next: cd mine && trainctl render")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_project_has_the_name_everywhere(command: Command, tmp_path: Path) -> None:
    command("init", "mine")
    texts = {path.name: path.read_text() for path in (tmp_path / "mine").iterdir()}
    assert [name for name, text in texts.items() if "my-project" in text] == []
    assert 'RECIPES = {"mine": train}' in texts["recipes.py"]


def test_every_file_of_the_template_is_written() -> None:
    written = {file.removeprefix(".") for file in PROJECT_FILES}
    assert {path.name for path in PROJECT.rglob("*.*") if path.is_file()} - {"training.md"} <= written
    assert {path.name for path in PROJECT.iterdir() if path.is_dir() and path.name != "__pycache__"} == {
        *FRAMEWORKS,
        *(framework.folder for framework in FRAMEWORKS.values()),
    }


def test_an_empty_folder_becomes_the_project(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert command("init", "mine/").code == 0
    assert (tmp_path / "mine/train.py").is_file()


def files_of(framework: str) -> set[str]:
    return set(PROJECT_FILES) - ({HOROVOD} if framework != "horovod" else set())


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_each_framework_has_its_script_job_image_and_readme(
    framework: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output, errors = command("init", "mine", "--framework", framework)
    assert (code, errors) == (0, "")
    texts = {path.name: path.read_text() for path in (tmp_path / "mine").iterdir()}
    assert set(texts) == files_of(framework)
    assert [line.split()[0].removeprefix("mine/") for line in output.splitlines()[:-2]] == [
        file for file in PROJECT_FILES if file in texts
    ]
    assert [name for name, text in texts.items() if "my-" in text.replace("my-own", "")] == []
    assert "from exact_resume." in texts["train.py"]
    assert "exact-resume\n" in texts["requirements-training.txt"]
    is_torch = FRAMEWORKS[framework].folder == "torch"
    assert ("localhost/training-torch:latest" if is_torch else "localhost/training:latest") in texts["Dockerfile"]
    assert f"trainctl image build --dockerfile {FRAMEWORKS[framework].dockerfile}`" in texts["README.md"]
    assert "-m venv .venv-t" in texts["README.md"]
    assert "<!--" not in texts["README.md"]
    monkeypatch.setattr("sys.path", list(sys.path))
    (tmp_path / "recipes.py").write_text(texts["recipes.py"])
    assert command("render").code == 0
    manifest = (tmp_path / "dist/jobs/mine.k8s.yaml").read_text()
    assert ("kind: Job\n" if is_torch else "kind: MPIJob\n") in manifest
    assert command("lint", "dist/jobs").out.startswith("0 errors, 0 warnings")


def test_horovod_is_the_default_without_a_terminal(command: Command, tmp_path: Path) -> None:
    command("init", "mine")
    assert "import horovod.tensorflow.keras as hvd" in (tmp_path / "mine/train.py").read_text()


def test_a_terminal_asks(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init_command, "_is_terminal", lambda: True)
    monkeypatch.setattr("click.prompt", lambda text, **given: "pytorch")
    assert command("init", "mine").code == 0
    assert "DistributedDataParallel" in (tmp_path / "mine/train.py").read_text()


def test_rejects_another_framework(command: Command, tmp_path: Path) -> None:
    message = "error: '--framework' is 'torch'; known: horovod, keras, pytorch, transformers\n"
    code, _, errors = command("init", "mine", "--framework", "torch")
    assert code == 2
    assert errors.startswith("error: '--framework' is 'torch'; "), message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["."], f"'NAME' is '.', but {PATH_RULE}"),
        (["../mine"], f"'NAME' is '../mine', but {PATH_RULE}"),
        (["/tmp/mine"], f"'NAME' is '/tmp/mine', but {PATH_RULE}"),
        (["My_Project"], f"'NAME' is 'My_Project'; {NAME_RULE}"),
        (["3d"], f"'NAME' is '3d'; {NAME_RULE}"),
        ([""], f"'NAME' is ''; {NAME_RULE}"),
        (
            ["n" * 60],
            f"'NAME' is '{'n' * 60}', but with 2 workers the operator names pods '<name>-worker-1', of at most 63 "
            "characters; use a name of 54 characters or fewer",
        ),
        ([], "Missing argument 'NAME'; 'trainctl init --help' shows what to type"),
    ],
)
def test_rejects_a_name_that_no_job_can_have(arguments: list[str], message: str, command: Command) -> None:
    assert command("init", *arguments) == (2, "", f"error: {message}\n")


def test_keeps_what_exists(command: Command, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    for name in ("a", "b", "c", "d"):
        (tmp_path / "full" / name).touch()
    (tmp_path / "file").touch()
    message = "error: 'NAME' is 'full', but that folder exists and contains a, b, c, …; give another name\n"
    assert command("init", "full") == (2, "", message)
    message = "error: 'NAME' is 'file', but a file has that name; give another name\n"
    assert command("init", "file") == (2, "", message)


def test_a_full_disk_leaves_no_half_of_a_project(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_text

    def full_at_the_readme(path: Path, *arguments: Any, **options: Any) -> int:
        if path.name == "README.md":
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", full_at_the_readme)
    message = (
        "error: 'NAME' is 'mine', but the folder cannot be written here (No space left on device); run it in a folder "
        "that you may write to, with free space\n"
    )
    assert command("init", "mine") == (2, "", message)
    assert list(tmp_path.iterdir()) == []


def test_the_project_has_the_packages_and_the_flags_of_this_repository(root: Path) -> None:
    def packages(file: str) -> set[str]:
        lines = (PROJECT / file).read_text().splitlines()
        return {line for line in lines if line and not line.startswith("#")}

    groups = tomllib.loads((root / "pyproject.toml").read_text())["dependency-groups"]
    known = {*groups["training"], *groups["mpi"]}
    own = packages("horovod/requirements-training.txt") - {"exact-resume"}
    assert own <= known
    # Those of the other programs in `training/`, and of its tests.
    others = {re.split(r"[^a-z0-9]", each)[0] for each in known - own}
    assert others == {"boto3", "hatchling", "matplotlib", "moto", "pycocotools", "pytest"}
    assert packages("keras/requirements-training.txt") < packages("horovod/requirements-training.txt")
    assert packages("horovod/requirements-horovod.txt") == set(groups["horovod"])
    for framework in ("pytorch", "transformers"):
        assert {"exact-resume", "numpy", groups["torch"][1]} <= packages(f"{framework}/requirements-training.txt")
    context, flags = (json.loads((folder / "cdk.json").read_text()) for folder in (root, PROJECT))
    assert {**context, "app": "python app.py"} == flags


def test_renders_the_recipes_of_the_folder(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", list(sys.path))
    (tmp_path / "recipes.py").write_text((PROJECT / "tensorflow/recipes.py").read_text())
    code, output, errors = command("render")
    assert (code, output) == (0, "dist/jobs/my-project.k8s.yaml\n")
    assert errors == (
        "the image is localhost/my-project:latest, which only this machine has; for a cluster give '--image'\n"
    )
    command("render", "nccl-p3dn", "my-project", "--image=i:1")
    assert names_in(tmp_path / "dist/jobs") == {"my-project", "nccl-p3dn"}
