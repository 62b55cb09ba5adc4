"""Predictions beside published figures, with the errors of rows that no constant was fitted to."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from training_workloads.catalog.all_reduce_curves import EFA_PAIRS, BandwidthPoint
from training_workloads.catalog.published_runs import PUBLISHED_RUNS, PublishedRun
from training_workloads.planning.all_reduce import all_reduce_seconds, bus_bandwidth
from training_workloads.planning.calibration import (
    fit,
    fitted_constants,
    hop_seconds,
    is_sent_by_jobs,
    pair_network,
    predicted_rate,
)

__all__ = ["Compared", "compared_bandwidths", "compared_runs", "median_error", "unfitted", "worst_error"]

_LARGEST_TRANSFER = "share of the line rate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """One row.

    Attributes:
        name: The run, or the instance type of a bandwidth.
        size: GPUs of a run, or bytes of a message.
        published: Images/s, or GB/s of bus bandwidth.
        predicted: The same.
        left_out: The prediction of a model that was fitted to all rows but this one; None where no other row can
            replace it.
        fitted: The constant that was fitted to this row; empty if none was.
        source: URL.
        note: Condition of the measurement that the row does not show.
    """

    name: str
    size: int
    published: float
    predicted: float
    left_out: float | None
    fitted: str
    source: str
    note: str = ""

    @property
    def error(self) -> float:
        """Error of the prediction: 0.1 is 10 % too fast."""
        return self.predicted / self.published - 1

    @property
    def left_out_error(self) -> float | None:
        """Error of the model that was fitted without this row."""
        return None if self.left_out is None else self.left_out / self.published - 1


def compared_runs() -> list[Compared]:
    """Return a row for each published run."""
    return [
        Compared(
            name=run.name,
            size=run.gpus,
            published=run.images_per_second,
            predicted=predicted_rate(run, fitted_constants()),
            left_out=_rate_without_it(run),
            fitted=run.fitted,
            source=run.source,
            note=run.note,
        )
        for run in PUBLISHED_RUNS
    ]


def compared_bandwidths() -> list[Compared]:
    """Return a row for each published line of nccl-tests."""
    return [
        Compared(
            name=point.instance_type,
            size=point.message_bytes,
            published=point.bus_gigabytes,
            predicted=_bandwidth(point, hop_seconds(point.instance_type)),
            left_out=_bandwidth_without_it(point),
            fitted=_fitted(point),
            source=point.source,
        )
        for point in EFA_PAIRS
    ]


def unfitted(rows: Sequence[Compared]) -> list[Compared]:
    """Return the rows to which nothing was fitted."""
    return [row for row in rows if not row.fitted]


def median_error(rows: Sequence[Compared], error: Callable[[Compared], float | None] = lambda row: row.error) -> float:
    """Return the median of the errors without their signs."""
    return statistics.median(abs(value) for row in rows if (value := error(row)) is not None)


def worst_error(rows: Sequence[Compared]) -> float:
    """Return the largest error without its sign."""
    return max(abs(row.error) for row in rows)


def _rate_without_it(run: PublishedRun) -> float:
    """Return the prediction with constants of all other runs whose base is one GPU."""
    others = [each for each in PUBLISHED_RUNS if each is not run and each.base_gpus == 1]
    one_node = [each for each in others if each.nodes == 1]
    # With one cluster nothing can be hidden, so that the row says nothing about it.
    several_nodes = [each for each in others if each.nodes > 1 and each.clusters > 1]
    return predicted_rate(run, fit(one_node, several_nodes))


def _bandwidth(point: BandwidthPoint, hop: float) -> float:
    network = pair_network(point.instance_type, hop=hop)
    seconds = all_reduce_seconds(point.message_bytes, network)
    return bus_bandwidth(point.message_bytes, seconds, network.ranks) / 1e9


def _bandwidth_without_it(point: BandwidthPoint) -> float | None:
    """Return the prediction with the median latency of the other sizes; the share of the line rate is one row's."""
    if _fitted(point) == _LARGEST_TRANSFER:
        return None
    others = [each for each in EFA_PAIRS if each is not point and each.instance_type == point.instance_type]
    hops = [hop_seconds(each.instance_type, each.message_bytes) for each in others]
    return _bandwidth(point, statistics.median(hops))


def _fitted(point: BandwidthPoint) -> str:
    if is_sent_by_jobs(point.message_bytes):
        return "latency of a hop"
    slower = min(EFA_PAIRS, key=lambda each: each.bus_gigabytes).instance_type
    largest = max((each for each in EFA_PAIRS if each.instance_type == slower), key=lambda each: each.message_bytes)
    return _LARGEST_TRANSFER if point is largest else ""
