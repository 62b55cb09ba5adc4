"""The folder that an image is built from: its Dockerfile, the image's name here, and what the build may read."""

from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile

from training_workloads.mpijob.programs import LOCAL_IMAGE
from training_workloads.validation import InputError, Problem, Problems, check

__all__ = ["ImageError", "build_arguments", "find_dockerfile", "ignore_file", "local_name", "pack"]

# A clone of this project, or the folder of a project that `trainctl init` wrote.
_DOCKERFILES = ("training/Dockerfile", "Dockerfile")


class ImageError(Exception):
    """A build or a push of an image failed; the text says what happened and what to do."""


def find_dockerfile(folder: Path, given: str | None) -> Path:
    """Return the Dockerfile of a folder, as a path relative to it.

    Raises:
        InputError: There is none.
    """
    if not folder.is_dir():
        raise InputError(Problem(path=("folder",), given=str(folder), fix="give a folder with a Dockerfile"))
    names = _DOCKERFILES if given is None else (given,)
    for name in names:
        if (folder / name).is_file():
            return Path(name)
    if given is not None:
        problem = Problem(path=("dockerfile",), given=given, fix=f"give the path of a file in {folder}")
    else:
        fix = f"it has neither {' nor '.join(names)}; give '--dockerfile', or another folder"
        problem = Problem(path=("folder",), given=str(folder), fix=fix)
    raise InputError(problem)


def local_name(folder: Path, dockerfile: Path | None = None) -> str:
    """Return an image's name on this machine: that in the recipes of the library, or of a project.

    `torch.Dockerfile` adds `-torch` to the name.
    """
    name = LOCAL_IMAGE
    if not (folder / _DOCKERFILES[0]).is_file():
        name = f"localhost/{folder.resolve().name.lower()}:latest"
    if dockerfile is not None and dockerfile.suffix == f".{_DOCKERFILES[1]}":
        name = name.replace(":", f"-{dockerfile.stem.lower()}:")
    return name


def build_arguments(given: list[str]) -> Mapping[str, str]:
    """Return build arguments by name.

    Raises:
        InputError: One has no `=`, or a line break.
    """
    for each in given:
        if not each.partition("=")[0] or "=" not in each or "\n" in each:
            fix = "give it as NAME=VALUE, such as BASE_IMAGE=debian:bookworm"
            raise InputError(Problem(path=("build_arg",), given=each, fix=fix))
    return dict(each.split("=", 1) for each in given)


def ignore_file(folder: Path, dockerfile: Path) -> Path | None:
    """Return the file that says what a build may not read: that of the Dockerfile before that of the folder."""
    candidates = (folder / f"{dockerfile}.dockerignore", folder / ".dockerignore")
    return next((path for path in candidates if path.is_file()), None)


def pack(folder: Path, dockerfile: Path, archive: BinaryIO) -> int:
    """Write the files that the build may read as a zip file, and return their number.

    Raises:
        InputError: The Dockerfile is not in the folder, or a link points to something else: a file outside of the
            folder, such as one with credentials.
    """
    check(_in_the_folder(folder, dockerfile))
    names = _included(folder, dockerfile)
    check(_links_stay(folder, names))
    with ZipFile(archive, "w", ZIP_DEFLATED, strict_timestamps=False) as packed:
        for name in names:
            packed.write(folder / name, name)
    return len(names)


def _in_the_folder(folder: Path, dockerfile: Path) -> Problems:
    if dockerfile.is_absolute() or ".." in dockerfile.parts:
        fix = f"copy the file into {folder}, and give its path there, such as gpu.Dockerfile"
        yield Problem(path=("dockerfile",), given=str(dockerfile), allowed="the build reads the folder alone", fix=fix)


def _links_stay(folder: Path, names: list[str]) -> Problems:
    read = {(folder.resolve() / name) for name in names if not (folder / name).is_symlink()}
    for name in names:
        path = folder / name
        if path.resolve() not in read:
            allowed = f"it points to {path.resolve()}, which the build does not read"
            fix = "copy the file there, or add the link to .dockerignore"
            yield Problem(path=("link",), given=str(path), allowed=allowed, fix=fix)


def _included(folder: Path, dockerfile: Path) -> list[str]:
    # Here, because it imports an HTTP client.
    from docker.utils import exclude_paths

    ignored = ignore_file(folder, dockerfile)
    lines = ignored.read_text(encoding="utf-8").splitlines() if ignored else []
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    found = exclude_paths(str(folder), patterns, dockerfile=str(dockerfile)) | {str(dockerfile)}
    return sorted(name for name in found if (folder / name).is_file() or (folder / name).is_symlink())
