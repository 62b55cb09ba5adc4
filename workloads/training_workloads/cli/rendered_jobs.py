"""The objects that `submit` is given: those of manifests, or of the job of a recipe or a script, rendered for it."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from training_workloads.cli.chosen_jobs import chosen_jobs
from training_workloads.manifests.documents import Document, read_documents, read_manifests
from training_workloads.recipes import find_recipes
from training_workloads.recipes.scripts import is_script
from training_workloads.terminal import say
from training_workloads.validation import Problem, check

__all__ = ["read_or_rendered"]

_RENDERED: Final = Path("dist/jobs")


def read_or_rendered(
    files: Sequence[str],
    name: str | None,
    changes: Mapping[str, Any],
    *,
    arguments: Sequence[str],
    launcher: str | None,
    recursive: bool,
) -> tuple[list[tuple[str, list[Document]]], list[Problem]]:
    """Return the objects of some files, and the problems of those that cannot be read.

    Args:
        files: Manifests, folders and `-`, or one recipe or Python script.
        name: Name of the job, if the user gave one.
        changes: Fields of the job; None where it was not given.
        arguments: Further arguments of its program.
        launcher: That of a script.
        recursive: Whether to read the folders inside a folder.

    Raises:
        InputError: The job is not allowed, or something was given that only a recipe or a script takes.
    """
    if len(files) == 1 and _is_job(files[0]):
        return [_rendered(files[0], name, changes, arguments=arguments, launcher=launcher)], []
    check(_only_for_a_job({"name": name, "launcher": launcher, "arguments": " ".join(arguments) or None, **changes}))
    return read_manifests(files, recursive=recursive)


def _is_job(name: str) -> bool:
    return is_script(name) or (not Path(name).exists() and name in find_recipes())


def _rendered(name: str, job_name: str | None, changes: Mapping[str, Any], **more: Any) -> tuple[str, list[Document]]:
    # Here, because it starts Node.js.
    from training_workloads.rendering import render_jobs

    (spec,), notes = chosen_jobs([name], job_name, changes, among=find_recipes(), **more)
    file = _RENDERED / f"{spec.name}.k8s.yaml"
    if file.exists():
        say(f"note: {file} exists and is not used; give its path to submit that", error=True)
    for note in notes:
        say(note, error=True)
    source = f"the job of {name}"
    with tempfile.TemporaryDirectory(prefix="render-") as folder:
        (path,), _ = render_jobs([spec], Path(folder))
        return source, read_documents(path.read_bytes(), source)


def _only_for_a_job(given: Mapping[str, Any]) -> list[Problem]:
    allowed = "only a recipe or a Python script takes it"
    fix = "omit it, and change the manifest: 'trainctl render' takes it too"
    return [
        Problem(path=(path,), given=value, allowed=allowed, fix=fix)
        for path, value in given.items()
        if value is not None
    ]
