"""The cap of the cost of a job that is submitted, in any manifest with a program of the image that counts it."""

import copy
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.cluster.resources import BATCH_JOBS, MPI_JOBS, TRAIN_JOBS
from training_workloads.jobs.cost_cap import cap_options, cap_problems
from training_workloads.lint.node_types import node_types
from training_workloads.manifests.documents import Document
from training_workloads.manifests.other_workloads import other_workload
from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.values import mapping
from training_workloads.mpijob.programs import LAUNCHER, RUN_TORCHRUN
from training_workloads.mpijob.view import MpiJobView
from training_workloads.validation import InputError, Problem, above_zero, check

__all__ = ["with_max_cost"]

_PATH = ("max_cost",)

# The programs of the image that count the cost.
_PROGRAMS = (LAUNCHER, RUN_TORCHRUN[:-1])


def with_max_cost(documents: Iterable[Document], usd: float) -> list[Document]:
    """Return the objects of manifests, each job with the cap; it replaces one of the manifest.

    Raises:
        InputError: There is no job, one has no program that counts its cost, or its nodes have no price.
    """
    check(above_zero("max_cost", usd))
    given = list(documents)
    if not any(_is_job(each.content) for each in given):
        allowed, fix = "the files have no job, whose cost it limits", "omit it, or add the manifest of the job"
        raise InputError(Problem(path=_PATH, given=usd, allowed=allowed, fix=fix))
    return [_capped(each, usd) if _is_job(each.content) else each for each in given]


def _is_job(content: Any) -> bool:
    kinds = [(each.api_version, each.kind) for each in (MPI_JOBS, BATCH_JOBS, TRAIN_JOBS)]
    return (mapping(content).get("apiVersion"), mapping(content).get("kind")) in kinds


def _capped(document: Document, usd: float) -> Document:
    content = copy.deepcopy(document.content)
    title = f"{content['kind']} {content['metadata']['name']!r}"
    counter, workers, counted = _counter(content)
    program = next((each for each in _PROGRAMS if _runs(counter.argv, each)), None)
    if program is None or workers is None:
        allowed = f"nothing in {title} counts what it costs"
        programs = " and ".join(f"'{' '.join(each)}'" for each in _PROGRAMS)
        fix = f"submit it without the option: {programs} count it"
        raise InputError(Problem(path=_PATH, given=usd, allowed=allowed, fix=fix))
    types, gpus = node_types(workers), int(workers.total(GPU_RESOURCE) or 0)
    if len(types) != 1 or not gpus:
        allowed = f"the workers of {title} name no one instance type of the catalog, with GPUs"
        fix = "give them a nodeSelector with node.kubernetes.io/instance-type, or omit the option"
        raise InputError(Problem(path=_PATH, given=usd, allowed=allowed, fix=fix))
    check(cap_problems(usd, types[0], gpus, workers.replicas or 1))
    _set_options(counter.content, program, cap_options(usd, types[0], gpus, counted))
    return dataclasses.replace(document, content=content)


def _counter(content: Any) -> tuple[Container, PodGroup | None, int]:
    """Return the container that counts the cost, the pods that cost it, and for how many of them it counts."""
    if content["kind"] == MPI_JOBS.kind:
        job = MpiJobView(document=content)
        return job.launcher.first, job.worker, 1
    workload = other_workload(content)
    pods = workload.groups[0] if content["kind"] == BATCH_JOBS.kind and workload else None
    return (pods.first, pods, pods.replicas or 1) if pods else (Container(path=(), content={}), None, 1)


def _runs(argv: Sequence[str], program: Sequence[str]) -> bool:
    return tuple(argv[: len(program)]) == tuple(program) and "--" in argv


def _set_options(container: Any, program: Sequence[str], options: Mapping[str, str]) -> None:
    """Give the program options, in place of those that it has."""
    words = container["command"] if program[-1] in container.get("command", ()) else container["args"]
    for option, value in options.items():
        # Behind '--' is the launch command.
        if option in words[: words.index("--")]:
            words[words.index(option) + 1] = value
        else:
            place = words.index(program[-1]) + 1
            words[place:place] = [option, value]
