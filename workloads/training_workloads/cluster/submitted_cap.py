"""The cap of the cost of a job that is submitted, in any manifest with the image's launcher."""

import copy
import dataclasses
from collections.abc import Iterable
from typing import Any

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.cluster.resources import BATCH_JOBS, MPI_JOBS, TRAIN_JOBS
from training_workloads.jobs.cost_cap import cap_options, cap_problems
from training_workloads.lint.node_types import node_types
from training_workloads.manifests.documents import Document
from training_workloads.manifests.values import mapping
from training_workloads.mpijob.launcher_argv import has_launcher
from training_workloads.mpijob.programs import LAUNCHER
from training_workloads.mpijob.view import MpiJobView
from training_workloads.validation import InputError, Problem, above_zero, check

__all__ = ["with_max_cost"]

_PATH = ("max_cost",)


def with_max_cost(documents: Iterable[Document], usd: float) -> list[Document]:
    """Return the objects of manifests, each job with the cap; it replaces one of the manifest.

    Raises:
        InputError: A job has no launcher that counts its cost, or its nodes have no price.
    """
    check(above_zero("max_cost", usd))
    return [_capped(each, usd) if _is_job(each.content) else each for each in documents]


def _is_job(content: Any) -> bool:
    kinds = [(each.api_version, each.kind) for each in (MPI_JOBS, BATCH_JOBS, TRAIN_JOBS)]
    return (mapping(content).get("apiVersion"), mapping(content).get("kind")) in kinds


def _capped(document: Document, usd: float) -> Document:
    content = copy.deepcopy(document.content)
    job, title = MpiJobView(document=content), f"{content['kind']} {content['metadata']['name']!r}"
    if content["kind"] != MPI_JOBS.kind or not has_launcher(job.launcher.first.argv):
        allowed = f"nothing in {title} counts what it costs"
        fix = f"submit it without the option: the launcher of an MPIJob, '{' '.join(LAUNCHER)}', counts it"
        raise InputError(Problem(path=_PATH, given=usd, allowed=allowed, fix=fix))
    types, gpus = node_types(job.worker), int(job.worker.total(GPU_RESOURCE) or 0)
    if len(types) != 1 or not gpus:
        allowed = f"the workers of {title} name no one instance type of the catalog, with GPUs"
        fix = "give them a nodeSelector with node.kubernetes.io/instance-type, or omit the option"
        raise InputError(Problem(path=_PATH, given=usd, allowed=allowed, fix=fix))
    check(cap_problems(usd, types[0], gpus, job.worker.replicas or 1))
    _set_options(job.launcher.first.content, cap_options(usd, types[0], gpus))
    return dataclasses.replace(document, content=content)


def _set_options(container: Any, options: dict[str, str]) -> None:
    """Give the launcher options, in place of those that it has."""
    words = container["command"] if LAUNCHER[-1] in container.get("command", ()) else container["args"]
    for option, value in options.items():
        # Behind '--' is the launch command.
        if option in words[: words.index("--")]:
            words[words.index(option) + 1] = value
        else:
            place = words.index(LAUNCHER[-1]) + 1
            words[place:place] = [option, value]
