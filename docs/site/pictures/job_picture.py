"""The path of one job, with the numbers of a rendered recipe."""

from typing import Any

import cdk8s

from docs.site.pictures.drawing import Arrow, Box, Group, Picture
from training_workloads.catalog import gpu_instance_type
from training_workloads.jobs.constructs import define_job
from training_workloads.lint.rules import EVERY_RULE
from training_workloads.mpijob.spec import KIND
from training_workloads.recipes import recipe

__all__ = ["job_picture"]

RECIPE = "resnet50-p4d"


def job_picture() -> Picture:
    """Return the picture of a job's path from the recipe to the results."""
    spec: Any = recipe(RECIPE)
    chart = cdk8s.Chart(cdk8s.App(), RECIPE)
    define_job(chart, "Job", spec=spec)
    documents = chart.to_json()
    job = next(each for each in documents if each["kind"] == KIND)
    here = Group(id="here", title="your machine", children=_here(spec, documents))
    there = Group(id="there", title="the cluster", children=_there(spec, job["spec"]), color="network")
    bucket = Box(id="bucket", title="S3 bucket", lines=("data, checkpoints, results",), color="storage")
    arrows = (
        Arrow(start="recipe", end="manifest", label="trainctl render"),
        Arrow(start="manifest", end="local", label="run-local"),
        Arrow(start="manifest", end="operator", label="submit", beside=True),
        Arrow(start="operator", end="launcher"),
        Arrow(start="operator", end="workers"),
        Arrow(start="launcher", end="workers", label="ssh", beside=True),
        Arrow(start="workers", end="fsx", label="read, write", heads="both"),
        Arrow(start="fsx", end="bucket", label="new and changed files", heads="both"),
    )
    return Picture(title="The path of one job", children=(here, there, bucket), arrows=arrows)


def _here(spec: Any, documents: list[dict[str, Any]]) -> tuple[Box, ...]:
    rules = len(EVERY_RULE)
    program = " ".join(spec.command[:3])
    return (
        Box(id="recipe", title=f"recipe {RECIPE}", lines=(program, f"{spec.workers} workers on {spec.instance_type}")),
        Box(
            id="manifest",
            title=f"dist/jobs/{RECIPE}.k8s.yaml",
            lines=(" and ".join(sorted(each["kind"] for each in documents)), f"checked by {rules} lint rules"),
        ),
        Box(id="local", title="2 ranks on the CPU", lines=("the same manifest",), color="compute"),
    )


def _there(spec: Any, job: dict[str, Any]) -> tuple[Box, ...]:
    launcher = job["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    worker = job["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    ranks = launcher["command"][launcher["command"].index("-np") + 1]
    limits = {name.partition("/")[2]: amount for name, amount in worker["resources"]["limits"].items() if "/" in name}
    folders = [word for word in spec.command if word.startswith("/")]
    gpu = gpu_instance_type(spec.instance_type).gpu
    assert gpu
    devices = f"{limits['gpu']} {gpu.model} GPUs, {limits['efa']} EFA each"
    return (
        Box(
            id="operator",
            title="MPI operator",
            lines=("creates the pods; the autoscaler", "starts the nodes that they need"),
        ),
        Box(
            id="launcher",
            title="launcher",
            lines=(f"mpirun with {ranks} ranks", f"restarts up to {spec.backoff_limit} times"),
            color="control",
        ),
        Box(id="workers", title=f"{spec.workers} workers", lines=(devices,), color="gpu"),
        Box(id="fsx", title="FSx for Lustre", lines=tuple(folders), color="storage"),
    )
