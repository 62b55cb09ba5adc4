import io
import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from training_workloads.images.build_folder import (
    build_arguments,
    find_dockerfile,
    ignore_file,
    local_name,
    pack,
)
from training_workloads.mpijob.programs import LOCAL_TORCH_IMAGE
from training_workloads.validation import InputError


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def packed(folder: Path, dockerfile: str) -> list[str]:
    archive = io.BytesIO()
    count = pack(folder, Path(dockerfile), archive)
    names = ZipFile(archive).namelist()
    assert len(names) == count
    return names


def test_a_clone_has_its_dockerfile_in_training(tmp_path: Path, root: Path) -> None:
    assert find_dockerfile(root, None) == Path("training/Dockerfile")
    assert find_dockerfile(write(tmp_path, "Dockerfile", "gpu.Dockerfile"), None) == Path("Dockerfile")
    assert find_dockerfile(tmp_path, "gpu.Dockerfile") == Path("gpu.Dockerfile")


def test_a_folder_without_a_dockerfile_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it has neither training/Dockerfile nor Dockerfile"):
        find_dockerfile(tmp_path, None)
    with pytest.raises(InputError, match="'dockerfile' is 'other'; give the path of a file in"):
        find_dockerfile(tmp_path, "other")
    with pytest.raises(InputError, match="give a folder with a Dockerfile"):
        find_dockerfile(tmp_path / "absent", None)


def test_the_name_is_that_in_the_recipes(tmp_path: Path, root: Path) -> None:
    assert local_name(root) == "localhost/training:latest"
    project = tmp_path / "My-project"
    project.mkdir()
    assert local_name(project) == "localhost/my-project:latest"
    assert local_name(project, Path("Dockerfile")) == "localhost/my-project:latest"


def test_another_dockerfile_makes_another_image(tmp_path: Path, root: Path) -> None:
    assert local_name(root, Path("training/torch.Dockerfile")) == LOCAL_TORCH_IMAGE == "localhost/training-torch:latest"
    assert local_name(tmp_path / "own", Path("GPU.Dockerfile")) == "localhost/own-gpu:latest"


def test_the_image_with_pytorch_is_built_from_its_own_files(root: Path) -> None:
    names = packed(root, "training/torch.Dockerfile")
    assert {"training/torch.Dockerfile", "training/torch_imagenet/__main__.py"} <= set(names)
    assert [name for name in names if name.startswith("requirements/")] == [
        "requirements/torch-cuda12.txt",
        "requirements/torch.txt",
    ]
    assert [name for name in names if not name.startswith(("requirements/", "training/"))] == []


def test_the_archive_has_what_docker_would_read(tmp_path: Path) -> None:
    write(tmp_path, "Dockerfile", "train.py", "runs/1/checkpoint", "a/__pycache__/b.pyc", "dist/keep", "dist/other")
    (tmp_path / ".dockerignore").write_text("# no output\nruns/\n**/__pycache__\ndist/*\n!dist/keep\n")
    assert packed(tmp_path, "Dockerfile") == [".dockerignore", "Dockerfile", "dist/keep", "train.py"]


@pytest.mark.parametrize("dockerfile", ["../gpu.Dockerfile", "/gpu.Dockerfile"])
def test_the_dockerfile_of_another_folder_is_not_packed(dockerfile: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(f"'dockerfile' is '{dockerfile}', but the build reads the folder")):
        packed(write(tmp_path, "train.py"), dockerfile)


def test_a_link_packs_no_file_that_docker_would_not_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "clone", "Dockerfile", "a.txt", ".env")
    write(tmp_path, "credentials")
    (folder / "b.txt").symlink_to("a.txt")
    assert packed(folder, "Dockerfile") == [".env", "Dockerfile", "a.txt", "b.txt"]
    (folder / ".dockerignore").write_text(".env\n")
    for target in ("../credentials", ".env"):
        link = folder / "notes.txt"
        link.symlink_to(target)
        what = (folder / target).resolve()
        message = f"'link' is '{link}', but it points to {what}, which the build does not read; copy the file there"
        with pytest.raises(InputError, match=re.escape(message)):
            packed(folder, "Dockerfile")
        link.unlink()


def test_the_archive_of_a_clone_has_no_secret_and_no_environment(root: Path) -> None:
    names = packed(root, "training/Dockerfile")
    assert {"training/Dockerfile", "setup/horovod.cmake", "requirements/training.txt", "requirements/uv.txt"} <= {
        *names
    }
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"requirements", "setup", "tests", "training"}


def test_the_ignore_file_of_a_dockerfile_goes_before_that_of_the_folder(tmp_path: Path) -> None:
    assert ignore_file(tmp_path, Path("Dockerfile")) is None
    write(tmp_path, ".dockerignore")
    assert ignore_file(tmp_path, Path("Dockerfile")) == tmp_path / ".dockerignore"
    write(tmp_path, "Dockerfile.dockerignore")
    assert ignore_file(tmp_path, Path("Dockerfile")) == tmp_path / "Dockerfile.dockerignore"


def test_a_build_argument_has_a_name_and_a_value() -> None:
    assert build_arguments(["A=1=2", "B="]) == {"A": "1=2", "B": ""}
    for wrong in ("A", "=1", "A=1\nB=2"):
        with pytest.raises(InputError, match="give it as NAME=VALUE"):
            build_arguments([wrong])
