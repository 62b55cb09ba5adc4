"""The cells of a sweep: one job for each combination of the axes, in the order in which they run."""

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, get_args

from training_workloads.bench.sweep import STORAGES, Sweep
from training_workloads.images.pushed_images import pushed_images
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.jobs.nccl_test_job import NcclTestJobSpec
from training_workloads.jobs.scheduling import Scheduling
from training_workloads.jobs.torch_elastic_job import TorchElasticJobSpec
from training_workloads.jobs.train_job import TRAIN_JOB
from training_workloads.jobs.volumes import SharedVolume
from training_workloads.recipes import Recipe, find_recipes, recipe
from training_workloads.validation import InputError, Problem, check

__all__ = ["Cell", "sweep_cells", "values_text"]

# Every kind of job that has ranks; an elastic Horovod job is a Horovod job.
_RankedSpec = HorovodJobSpec | TorchElasticJobSpec | NcclTestJobSpec
_FIELDS = {field for kind in get_args(_RankedSpec) for field in kind.model_fields}
_SCHEDULING = tuple(Scheduling.model_fields)

# A job name for the hash: the real one has the hash in it.
_NO_NAME = "bench"
_HASH_LETTERS = 10


# Without slots: cached_property needs a __dict__.
@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination of values.

    Attributes:
        values: The recipe, and its value of each axis.
        make: Returns the job with a name.
        machine: The machine of a local run; empty on a cluster.
    """

    values: Mapping[str, Any]
    make: Callable[[str], _RankedSpec]
    machine: str = ""

    @cached_property
    def spec(self) -> _RankedSpec:
        """The job with a name that no cluster sees."""
        return self.make(_NO_NAME)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The whole job, and the machine and the ranks of a local run: equal cells have equal identities."""
        job = {"kind": type(self.spec).__name__, **self.spec.model_dump()}
        local = {"machine": self.machine, "ranks": self.values["ranks"]} if self.machine else {}
        # Through JSON, so that an identity that is read from a file equals it.
        return dict(json.loads(json.dumps({"job": job, **local}, default=str)))

    @cached_property
    def name(self) -> str:
        """The hash of the identity."""
        text = json.dumps(self.identity, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LETTERS]

    @property
    def title(self) -> str:
        """Its values as text."""
        return values_text(self.values)

    @property
    def ranks(self) -> int:
        """Ranks of its job: one for each GPU, or as many as a local run has."""
        if self.machine:
            return int(self.values["ranks"])
        if isinstance(self.spec, NcclTestJobSpec):
            return self.spec.nodes * self.spec.instance.gpus
        return self.spec.world_size

    @property
    def nodes(self) -> int:
        """Nodes that its job occupies; 0 of a cluster for a local run."""
        return 0 if self.machine else math.ceil(self.ranks / self.spec.instance.gpus)

    @property
    def usd_per_hour(self) -> float:
        """On-Demand price of its nodes."""
        price = self.spec.instance.price
        return self.nodes * price.usd_per_hour if price else 0.0


def values_text(values: Mapping[str, Any]) -> str:
    """Return the values of a cell: `resnet50-p4d, nodes 2, --batch-size 256`."""
    return ", ".join(str(value) if name == "recipe" else f"{name} {value}" for name, value in values.items())


def sweep_cells(sweep: Sweep, machine: str = "") -> list[Cell]:
    """Return the cells of a sweep: those of one instance type together, the most nodes first, as nodes are then kept.

    Args:
        sweep: The sweep.
        machine: This machine, for a local run.

    Raises:
        InputError: The file has mistakes, or a job is not possible: every problem of the file and of every cell, once.
    """
    recipes, pushed = find_recipes(), pushed_images()
    combinations = [dict(zip(sweep.axes, values, strict=True)) for values in itertools.product(*sweep.axes.values())]
    cells, problems = [], {str(each): each for each in sweep.problems}
    for values in combinations if sweep.recipe else ():
        make = partial(_job, sweep, values, recipes, pushed)
        cell = Cell(values={"recipe": sweep.recipe, **values}, make=make, machine=machine)
        try:
            check(_possible(cell, sweep))
        except InputError as error:
            found = (sweep.located(_in_the_file(each, sweep)) for each in error.problems)
            problems |= {str(each): each for each in found}
        else:
            cells.append(cell)
    check(problems.values() or map(sweep.located, _same_jobs(cells)))
    return sorted(cells, key=lambda cell: (cell.spec.instance_type, -cell.ranks))


def _same_jobs(cells: list[Cell]) -> Iterator[Problem]:
    """Yield each cell that is the job of another one: both would share a folder, and the second would run again."""
    first: dict[str, Cell] = {}
    for cell in cells:
        other = first.setdefault(cell.name, cell)
        if other is not cell:
            path = ("axes", *(name for name, value in cell.values.items() if value is not other.values[name]))[:2]
            yield Problem(path=path, given=cell.title, allowed=f"{other.title} is the same job", fix="omit one of them")


def _possible(cell: Cell, sweep: Sweep) -> Any:
    """Yield the problems that forbid a job of a sweep, beside the rules of the job itself."""
    spec = cell.spec
    if not isinstance(spec, _RankedSpec):
        yield Problem(path=("recipe",), given=sweep.recipe, allowed="its job has no ranks", fix="choose another")
    elif getattr(spec, "kind", "") == TRAIN_JOB:
        yield Problem(path=("kind",), given=TRAIN_JOB, allowed="a sweep waits for MPIJobs and Jobs", fix="omit it")
    elif sweep.runner == "cluster":
        if spec.image.startswith("localhost/"):
            fix = "push it with 'trainctl image push', or give its address"
            yield Problem(path=("job", "image"), given=spec.image, allowed="only this machine has it", fix=fix)
        if not spec.instance.price:
            allowed = "the catalog has no price of it, so no budget can be kept"
            yield Problem(path=("instance_type",), given=spec.instance_type, allowed=allowed, fix="choose another type")


def _in_the_file(problem: Problem, sweep: Sweep) -> Problem:
    """Return a problem of a job under the key of the file that gave the value, or has a place for it."""
    first = str(problem.path[0]) if problem.path else ""
    axis = {"workers": "nodes", "volumes": "storage"}.get(first, first)
    if first == "min_workers" and first not in sweep.job:
        axis = "nodes"
    if first in sweep.axes or axis in sweep.axes:
        name = first if first in sweep.axes else axis
        fix = f"{problem.fix}, or write --{name} for an option of its program"
        is_no_field = name == first and name not in _FIELDS and not name.startswith("-")
        return replace(problem, path=("axes", name), fix=fix if is_no_field else problem.fix)
    return problem if first in ("", *sweep.__dataclass_fields__) else problem.under("job")


def _job(
    sweep: Sweep, values: Mapping[str, Any], recipes: Mapping[str, Recipe], pushed: Mapping[str, str], name: str
) -> Any:
    """Return the job of some values: the recipe with the fields that the file gives, and with those that follow."""
    given = {**sweep.job, **values}
    options = _popped(given, [key for key in given if key.startswith("--")])
    scheduling = _popped(given, _SCHEDULING)
    axes = _popped(given, ("nodes", "ranks", "storage"))
    needed = recipes[sweep.recipe].needs if sweep.recipe in recipes else ()
    plain: Any = recipe(sweep.recipe, name, among=recipes, **{key: given[key] for key in needed if key in given})
    given |= _derived(plain, given, axes, pushed)
    words = [*sweep.arguments, *(str(word) for key, value in options.items() for word in (key, _word(value)))]
    if words:
        _reject_words(plain, sweep, options)
        # argparse takes the last one of an option.
        given["command"] = (*plain.command, *words)
    return recipe(sweep.recipe, name, among=recipes, scheduling=scheduling, **given)


def _popped(values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Remove some values, and return them."""
    return {name: values.pop(name) for name in names if name in values}


def _derived(
    plain: Any, given: Mapping[str, Any], axes: Mapping[str, Any], pushed: Mapping[str, str]
) -> dict[str, Any]:
    """Return the fields of a job that follow from the axes, from its kind and from the images that were pushed."""
    fields: dict[str, Any] = {}
    if found := pushed.get(given.get("image", getattr(plain, "image", ""))):
        fields["image"] = found
    if isinstance(plain, NcclTestJobSpec) and "nodes" in axes:
        fields["nodes"] = axes["nodes"]
    elif "nodes" in axes:
        fields |= {"workers": axes["nodes"], "gpus_per_worker": None}
    if hasattr(plain, "min_workers") and given.get("kind") != TRAIN_JOB and "min_workers" not in given:
        # An elastic job would start, and might even end, before all nodes of the cell are there.
        fields["min_workers"] = {"workers": plain.workers, **given, **fields}["workers"]
    if axes.get("storage") in STORAGES:
        claim = STORAGES[axes["storage"]]
        volumes = getattr(plain, "volumes", ())
        fields["volumes"] = tuple(SharedVolume(claim=claim, mount_path=each.mount_path) for each in volumes)
    return fields


def _reject_words(spec: Any, sweep: Sweep, options: Mapping[str, Any]) -> None:
    if not hasattr(spec, "command"):
        path = ("arguments",) if sweep.arguments else (next(iter(options)),)
        allowed = f"the command of {sweep.recipe} is derived from its fields"
        raise InputError(Problem(path=path, given="options of a program", allowed=allowed, fix="omit it"))


def _word(value: Any) -> str:
    # YAML reads on and off as booleans.
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
