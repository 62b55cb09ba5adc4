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
from training_workloads.cli.init_command import PROJECT_FILES

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
    assert {path.name for path in PROJECT.iterdir() if path.is_file()} == written


def test_an_empty_folder_becomes_the_project(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert command("init", "mine/").code == 0
    assert (tmp_path / "mine/train.py").is_file()


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
    assert packages("requirements-training.txt") <= known
    # Those of the other programs in `training/`, and of its tests.
    others = {re.split(r"[^a-z0-9]", each)[0] for each in known - packages("requirements-training.txt")}
    assert others == {"boto3", "hatchling", "matplotlib", "moto", "pycocotools", "pytest"}
    assert packages("requirements-horovod.txt") == set(groups["horovod"])
    context, own = (json.loads((folder / "cdk.json").read_text()) for folder in (root, PROJECT))
    assert {**context, "app": "python app.py"} == own


def test_renders_the_recipes_of_the_folder(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", list(sys.path))
    (tmp_path / "recipes.py").write_text((PROJECT / "recipes.py").read_text())
    code, output, errors = command("render")
    assert (code, output) == (0, "dist/jobs/my-project.k8s.yaml\n")
    assert errors == (
        "the image is localhost/my-project:latest, which only this machine has; for a cluster give '--image'\n"
    )
    command("render", "nccl-p3dn", "my-project", "--image=i:1")
    assert names_in(tmp_path / "dist/jobs") == {"my-project", "nccl-p3dn"}
