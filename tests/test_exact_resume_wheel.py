"""The wheel of the library `exact_resume`, as a user's environment has it."""

import ast
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from setup.source_tree import names_of_import


@pytest.fixture(scope="module")
def installed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    (wheel,) = WheelBuilder(str(root / "training")).build(directory=str(folder), versions=["standard"])
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def imports(installed: Path, monkeypatch: pytest.MonkeyPatch) -> dict[Path, list[str]]:
    monkeypatch.setattr("setup.source_tree.SOURCE_ROOTS", (installed,))
    return {
        path: [name for node in ast.walk(ast.parse(path.read_text())) for name in names_of_import(node, path)]
        for path in installed.rglob("*.py")
    }


def test_no_file_imports_the_programs(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = imports(installed, monkeypatch)
    # A module of the library that is missing, or a part of `training` that is no part of it.
    missing = {
        f"{path.relative_to(installed)} imports {name}"
        for path, names in found.items()
        for name in names
        if name.partition(".")[0] in ("training", "exact_resume") and not is_there(installed, name)
    }
    assert not missing, "\n".join(sorted(missing))
    assert any(name.startswith("exact_resume.") for names in found.values() for name in names)


def is_there(installed: Path, name: str) -> bool:
    places = [installed / each.replace(".", "/") for each in (name, name.rpartition(".")[0])]
    return any(place.is_dir() or place.with_suffix(".py").is_file() for place in places)


def test_the_wheel_is_typed_and_has_the_library_only(installed: Path) -> None:
    assert {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")} == {"exact_resume"}
    assert (installed / "exact_resume/py.typed").is_file()


@pytest.mark.parametrize("dockerfile", ["training/Dockerfile", "training/torch.Dockerfile"])
def test_the_images_install_the_library_without_an_index(dockerfile: str, root: Path, tmp_path: Path) -> None:
    (command,) = re.findall(r"^RUN pip (install .* \./training) ", (root / dockerfile).read_text(), re.MULTILINE)
    assert "--no-index" in command
    words = [sys.executable, "-m", "pip", *shlex.split(command), "--quiet", "--target", str(tmp_path)]
    subprocess.run(words, cwd=root, check=True)
    program = (
        "import exact_resume.runtime.user_loop, importlib.metadata; print(importlib.metadata.version('exact-resume'))"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    assert (tmp_path / "exact_resume/runtime/user_loop.py").is_file()


@pytest.mark.parametrize("lock", ["training", "torch", "torch-cuda12"])
def test_the_images_have_what_builds_the_library(lock: str, root: Path) -> None:
    assert re.search(r"^hatchling==", (root / f"requirements/{lock}.txt").read_text(), re.MULTILINE)
