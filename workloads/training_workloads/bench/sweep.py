"""A sweep file: a recipe, and the axes over which its job is measured."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from training_workloads.jobs.volumes import EFS_CLAIM, LUSTRE_CLAIM
from training_workloads.validation import MISSING, Problem, Problems, at_least, known_names, one_of
from training_workloads.yaml_lines import YamlDocument, read_settings

__all__ = ["RUNNERS", "STORAGES", "Sweep", "load_sweep"]

#: Where the jobs of a sweep run: on a cluster, or as ranks of this machine.
RUNNERS: Final = ("cluster", "local")

#: The claims of the axis `storage`; each is mounted where the recipe's file system is.
STORAGES: Final = {"lustre": LUSTRE_CLAIM, "efs": EFS_CLAIM}

_KEYS = ("recipe", "runner", "axes", "job", "arguments", "repeats", "budget", "planned_hours")
_MOST_REPEATS = 99

# Limits of the cost of jobs on a cluster; ranks of this machine cost nothing.
_COSTS = ("budget", "planned_hours")

# Not for a sweep to set: a job's name has the hash, and the others are not fields.
_NO_FIELDS = ("name", "job_name", "among", "scheduling")

# A job gets them from `nodes`.
_FROM_NODES = ("workers", "gpus_per_worker")

# Fields on nodes, which a run on this machine does not have.
_OF_NODES = ("nodes", "workers", "instance_type", "storage")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sweep:
    """A sweep file, as read.

    Attributes:
        recipe: Name of the recipe.
        runner: `cluster` or `local`.
        axes: Values by axis. An axis is a field of the recipe's job, an option of its program such as `--batch-size`,
            `nodes`, `storage` (lustre, efs), or of a local run `ranks`.
        job: Fields of every job, such as its image.
        arguments: Words that every job's program gets behind those of the recipe.
        repeats: Repetitions of each cell, of which the report shows the medians.
        budget: Dollars that the jobs may cost; None for a local run.
        planned_hours: Hours that a job takes, until one of its cell was measured.
        document: The file, for the places of problems.
        problems: The mistakes of the file itself; the values that have one are omitted above.
    """

    recipe: str
    runner: str
    axes: Mapping[str, tuple[Any, ...]]
    job: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    repeats: int = 1
    budget: float | None = None
    planned_hours: float | None = None
    document: YamlDocument
    problems: tuple[Problem, ...] = ()

    def located(self, problem: Problem) -> Problem:
        """Return a problem with its place in the file."""
        return _located(problem, self.document)


def load_sweep(path: str) -> Sweep:
    """Return the sweep of a file, with its mistakes: `sweep_cells` reports them together with those of the jobs.

    Raises:
        InputError: The file cannot be read.
    """
    document = read_settings(path, "sweep", "give a sweep file")
    content = document.content
    axes, job, arguments = (content.get(key) for key in ("axes", "job", "arguments"))
    return Sweep(
        recipe=content["recipe"] if isinstance(content.get("recipe"), str) else "",
        runner=str(content.get("runner")),
        axes={name: tuple(values) for name, values in axes.items() if _is_list(values) and name not in _NO_FIELDS}
        if _is_map(axes)
        else {},
        job={name: value for name, value in job.items() if _is_scalar(value) and name not in _NO_FIELDS}
        if _is_map(job)
        else {},
        arguments=tuple(map(str, arguments)) if _is_list(arguments) else (),
        repeats=content.get("repeats", 1),
        budget=content.get("budget"),
        planned_hours=content.get("planned_hours"),
        document=document,
        problems=(*document.problems, *(_located(each, document) for each in _problems(content))),
    )


def _located(problem: Problem, document: YamlDocument) -> Problem:
    return replace(problem, source=document.where(problem.path))


def _problems(content: dict[str, Any]) -> Problems:
    for key in content:
        if key not in _KEYS:
            allowed = "it is not a key of a sweep"
            yield Problem(path=(key,), given=content[key], allowed=allowed, fix=known_names(key, _KEYS))
    recipe = content.get("recipe", MISSING)
    if not isinstance(recipe, str) or not recipe:
        yield Problem(path=("recipe",), given=recipe, fix="give the name of a recipe, such as resnet50-p4d")
    runner = content.get("runner", MISSING)
    yield from one_of("runner", runner, RUNNERS)
    yield from _axes(content.get("axes", MISSING), runner)
    yield from _job(content.get("job"), content.get("axes"), runner)
    yield from _nodes_alone(content.get("axes"), content.get("job"))
    arguments = content.get("arguments")
    if arguments is not None and not _is_list(arguments):
        yield Problem(path=("arguments",), given=arguments, fix="give a list of words")
    if "repeats" in content:
        yield from at_least("repeats", content["repeats"], 1, _MOST_REPEATS)
    yield from _costs(content, runner)


def _axes(axes: Any, runner: Any) -> Iterator[Problem]:
    if not _is_map(axes) or not axes:
        yield Problem(path=("axes",), given=axes, fix="give at least one axis with its values, such as nodes: [1, 2]")
        return
    for name, values in axes.items():
        if not _is_list(values) or not values:
            yield Problem(path=("axes", name), given=values, fix="give a list with a text or a number each")
        elif len({(type(each), each) for each in values}) < len(values):
            yield Problem(path=("axes", name), given=values, allowed="a value is there twice", fix="omit one of them")
    if runner == "local" and "ranks" not in axes:
        yield Problem(path=("axes", "ranks"), given=MISSING, fix="give numbers of ranks, such as [1, 2]")
    for name, values in axes.items():
        found = [each for value in (values if _is_list(values) else ()) for each in _value(name, value)]
        yield from (problem.under("axes") for problem in (*_no_field_here(name, values, runner), *found))


def _job(job: Any, axes: Any, runner: Any) -> Iterator[Problem]:
    if job is None:
        return
    if not _is_map(job) or not all(map(_is_scalar, job.values())):
        yield Problem(path=("job",), given=job, fix="give fields of the job with a text or a number each")
        return
    swept = axes if _is_map(axes) else {}
    for name, value in job.items():
        if name in swept:
            yield Problem(path=("job", name), given=value, allowed="it is an axis too", fix="omit one of them")
        elif name == "ranks" and runner == "local":
            yield Problem(path=("job", name), given=value, allowed="it is an axis", fix="omit it here")
        else:
            found = (*_no_field_here(name, value, runner), *_value(name, value))
            yield from (problem.under("job") for problem in found)


def _no_field_here(name: str, given: Any, runner: Any) -> Iterator[Problem]:
    """Reject a field that a sweep cannot set, or that its runner does not have."""
    if name in _NO_FIELDS:
        fix = "omit it" if name != "scheduling" else "give one of its fields, such as queue"
        yield Problem(path=(name,), given=given, allowed="a sweep cannot set it", fix=fix)
    elif runner == "local" and name in _OF_NODES:
        allowed = "ranks of this machine have no nodes"
        yield Problem(path=(name,), given=given, allowed=allowed, fix="omit it, or use runner: cluster")
    elif runner != "local" and name == "ranks":
        allowed = "the ranks of a cluster are the GPUs of its nodes"
        yield Problem(path=(name,), given=given, allowed=allowed, fix="use nodes")


def _value(name: str, value: Any) -> Problems:
    if name == "ranks":
        yield from at_least(name, value, minimum=1)
    elif name == "storage":
        yield from one_of(name, value, STORAGES)


def _nodes_alone(axes: Any, job: Any) -> Iterator[Problem]:
    """Yield a problem for each value that `nodes` would overwrite."""
    parts = {"axes": axes if _is_map(axes) else {}, "job": job if _is_map(job) else {}}
    if any("nodes" in part for part in parts.values()):
        for key, part in parts.items():
            for name in (each for each in _FROM_NODES if each in part):
                allowed = "'nodes' sets it"
                yield Problem(path=(key, name), given=part[name], allowed=allowed, fix="omit one of them")


def _costs(content: dict[str, Any], runner: Any) -> Iterator[Problem]:
    for key in _COSTS:
        given = content.get(key, MISSING)
        if runner == "local":
            if given is not MISSING:
                yield Problem(path=(key,), given=given, allowed="ranks of this machine cost nothing", fix="omit it")
        elif isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < float("inf"):
            sample = "dollars, such as 500" if key == "budget" else "hours of a job, such as 0.5"
            yield Problem(path=(key,), given=given, fix=f"give {sample}")


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_scalar, value))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float)
