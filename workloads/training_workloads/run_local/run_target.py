"""The targets of `run-local`: a manifest, a folder with one, the standard input, a recipe, or a Python script."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from training_workloads.manifests.documents import STANDARD_INPUT, Document, read_documents, read_manifests
from training_workloads.manifests.values import mapping
from training_workloads.mpijob.api import KIND
from training_workloads.recipes import RENAMED, Recipe, find_recipes, known_recipe, recipe
from training_workloads.run_local.torchrun_plan import runs_torchrun
from training_workloads.validation import InputError, Problem, Problems, enforce, known_names

__all__ = ["Target", "read_job", "read_target"]

_SCRIPT_SUFFIX = ".py"
_RENDERED = Path("dist/jobs")
_FEW_NAMES = 10
_SHOWN_FILES = 3

# Beside a script, and no scripts of ranks.
_OTHER_SCRIPTS = ("app.py", "conftest.py", "recipes.py", "setup.py")


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A job, and what the user reads about where it is from.

    Attributes:
        job: An MPIJob, or a Job of torchrun.
        origin: Such as `recipe digits`, or `dist/jobs/digits.k8s.yaml`.
        note: Another target that the user may have meant; empty if there is none.
    """

    job: Document
    origin: str
    note: str = ""


def read_target(name: str) -> Target:
    """Return the job of a manifest, of a folder with one, of the standard input, or of a recipe.

    Raises:
        InputError: There is no such file and no such recipe, or it does not have exactly one job.
    """
    if not name or name == STANDARD_INPUT or Path(name).exists():
        return Target(job=read_job(name), origin="the standard input" if name == STANDARD_INPUT else name)
    if name.split()[0] in ("python", "python3"):
        fix = "give the script alone, its arguments behind '--': 'trainctl run-local train.py -- --epochs 3'"
        raise InputError(Problem(path=("file",), given=name, allowed="ranks start Python themselves", fix=fix))
    # `recipes.py` is run once, and only for what may be in it.
    recipes = find_recipes()
    if name not in recipes:
        is_path = Path(name).suffix or "/" in name
        raise InputError(_like_a_path(name) if is_path else _like_a_recipe(name, list(recipes)))
    rendered = _RENDERED / f"{name}.k8s.yaml"
    note = f"{rendered} exists and is not used; give its path to run that" if rendered.exists() else ""
    where = f"recipes.py: {name}" if recipes[name].origin == "folder" else f"the recipe {name}"
    return Target(job=_job_of_recipe(recipes, name), origin=where, note=note)


def read_job(file: str | Path) -> Document:
    """Return the one MPIJob of a manifest, or Job of torchrun; other objects in it are ignored.

    Raises:
        InputError: The file cannot be read, or does not have exactly one.
    """
    enforce(str(file), [_exists])
    read, problems = read_manifests([file])
    if problems:
        raise InputError(*problems)
    return _one_job([document for _, documents in read for document in documents], str(file))


def _job_of_recipe(recipes: Mapping[str, Recipe], name: str) -> Document:
    enforce(recipes[name], [_needs_nothing])
    spec = recipe(name, among=recipes)
    # Here, because it starts Node.js.
    from training_workloads.rendering import render_jobs

    with tempfile.TemporaryDirectory(prefix="render-") as folder:
        (path,), _ = render_jobs([spec], Path(folder))
        return _one_job(read_documents(path.read_bytes(), f"the recipe {name}"), name)


def _needs_nothing(found: Recipe) -> Problems:
    if found.needs:
        allowed = f"it needs {' and '.join(found.needs)}, which only 'trainctl render' takes"
        yield Problem(path=("file",), given=found.name, allowed=allowed, fix="render it, and give the manifest")


def _one_job(documents: list[Document], given: str) -> Document:
    kinds = [(mapping(document.content).get("kind"), document) for document in documents]
    jobs = [document for kind, document in kinds if kind == KIND or runs_torchrun(document)]
    if len(jobs) == 1:
        return jobs[0]
    if len(jobs) > 1:
        files = sorted(str(path) for path in Path(given).glob("*.k8s.yaml")) if Path(given).is_dir() else []
        fix = f"give one of {', '.join(files[:_SHOWN_FILES])}{', …' if len(files) > _SHOWN_FILES else ''}"
        allowed = f"it contains {len(jobs)} jobs, and one can run here"
        fix = fix if files else "give a file with one of them"
        raise InputError(Problem(path=("file",), given=given, allowed=allowed, fix=fix))
    found = ", ".join(str(kind) for kind, _ in kinds if kind) or "no Kubernetes object"
    allowed = f"it contains {found}, and only the launcher of one {KIND}, or one Job of torchrun, can run here"
    fix = f"give a file with exactly one of them, or a Python script, whose name ends in {_SCRIPT_SUFFIX}"
    raise InputError(Problem(path=("file",), given=given, allowed=allowed, fix=fix))


def _exists(name: str) -> Problems:
    if not name:
        yield Problem(path=("file",), given=name, fix="give a recipe, a manifest or a Python script")
    elif name != STANDARD_INPUT and not Path(name).exists():
        yield _like_a_path(name)


def _like_a_path(name: str) -> Problem:
    suffix = _SCRIPT_SUFFIX if name.endswith(_SCRIPT_SUFFIX) else ".k8s.yaml"
    found = Path(name).parent.glob(f"*{suffix}")
    existing = sorted(str(path) for path in found if path.name not in _OTHER_SCRIPTS)
    ways = [
        *(["render manifests with 'trainctl render'"] if suffix != _SCRIPT_SUFFIX else []),
        *([f"give one of {', '.join(close)}"] if (close := _few(name, existing)) else []),
    ]
    fix = ", or ".join(ways) or "give a script that exists"
    return Problem(path=("file",), given=name, allowed="it does not exist", fix=fix)


def _like_a_recipe(name: str, recipes: list[str]) -> Problem:
    rendered = sorted(map(str, _RENDERED.glob("*.k8s.yaml")))
    exact = [path for path in rendered if Path(path).name == f"{name}.k8s.yaml"]
    if name in RENAMED and not exact:
        return next(replace(each, path=("file",)) for each in known_recipe(name, recipes))
    fix = f"give {exact[0]}" if exact else known_names(name, recipes)
    if not exact and (files := _few(f"{name}.k8s.yaml", [Path(path).name for path in rendered])):
        fix += f"; files in {_RENDERED}: {', '.join(files)}"
    return Problem(path=("file",), given=name, allowed="it is neither a recipe nor a file", fix=fix)


def _few(name: str, existing: list[str]) -> list[str]:
    """Return the existing names, or of many those that are like a name: a long list hides the answer."""
    return existing if len(existing) <= _FEW_NAMES else sorted(get_close_matches(name, existing))
