"""Jobs, and their manifests."""

from collections.abc import Callable
from typing import Any

import cdk8s
import pytest

from training_workloads import HorovodJob, HorovodJobSpec


@pytest.fixture
def job_spec() -> HorovodJobSpec:
    """A plain job; tests derive others from it."""
    return HorovodJobSpec(
        name="job", image="image:1", command=("python", "-m", "train"), instance_type="p3dn.24xlarge", workers=2
    )


@pytest.fixture
def synthesize() -> Callable[[HorovodJobSpec], dict[str, Any]]:
    """Return a function that renders the MPIJob of a job, without its NetworkPolicy."""

    def manifest(spec: HorovodJobSpec) -> dict[str, Any]:
        chart = cdk8s.Testing.chart()
        HorovodJob(chart, "Job", spec=spec)
        job, _ = cdk8s.Testing.synth(chart)
        return dict(job)

    return manifest
