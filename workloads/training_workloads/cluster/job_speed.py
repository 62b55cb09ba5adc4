"""The speed of a job: what the ranks print, and beside it what was predicted when the job was rendered."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.job_summaries import moment
from training_workloads.cluster.jobs import ClusterJob
from training_workloads.cluster.logs import launcher_lines
from training_workloads.manifests.values import mapping
from training_workloads.mpijob.programs import PROGRESS_SPEED
from training_workloads.mpijob.spec import PREDICTION_ANNOTATION

__all__ = ["JobSpeed", "read_speed"]

# The ranks print a line at most every ten seconds; between two of them other programs and NCCL may print.
_LAST_LINES = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSpeed:
    """Images per second of all ranks.

    Attributes:
        images_per_second: In the newest line of progress, compilation and warm-up apart; `None` without one.
        at: When that line was printed.
        predicted_images_per_second: The rate in the job's annotation, if that is for the job's number of ranks.
    """

    images_per_second: float | None
    at: datetime | None
    predicted_images_per_second: float | None

    @property
    def share(self) -> float | None:
        """What was measured by what was predicted."""
        if self.images_per_second is None or self.predicted_images_per_second is None:
            return None
        return self.images_per_second / self.predicted_images_per_second


def read_speed(cluster: Cluster, job: ClusterJob) -> JobSpeed | None:
    """Return the speed in the newest launcher's log and the predicted one; `None` where neither is known.

    Args:
        cluster: The cluster.
        job: The job.
    """
    found, predicted = _measured(cluster, job), _predicted(job)
    if found is None and predicted is None:
        return None
    at, speed = found or (None, None)
    return JobSpeed(images_per_second=speed, at=at, predicted_images_per_second=predicted)


def _measured(cluster: Cluster, job: ClusterJob) -> tuple[datetime | None, float] | None:
    found = None
    for time, text in launcher_lines(cluster, job, {"tailLines": str(_LAST_LINES)}):
        if match := PROGRESS_SPEED.search(text):
            found = moment(time), float(match["speed"].replace(",", ""))
    return found


def _predicted(job: ClusterJob) -> float | None:
    """Return the annotation's speed; a user may have written another value."""
    annotations = mapping(job.manifest["metadata"].get("annotations"))
    try:
        value: Any = json.loads(str(annotations.get(PREDICTION_ANNOTATION)))
        gpus, speed = value["gpus"], float(value["images_per_second"])
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    # Changed by hand, or by another program, since it was rendered.
    return speed if gpus == job.summary.world_size and 0 < speed < float("inf") else None
