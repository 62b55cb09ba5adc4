"""What a results folder says: the medians of each cell, its efficiency, the plan's prediction and published speeds."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from training_workloads.bench.cells import values_text
from training_workloads.bench.results_folder import FINISHED, ResultsFolder
from training_workloads.catalog.instances import INSTANCE_TYPES
from training_workloads.catalog.published_runs import PUBLISHED_RUNS
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.jobs.nccl_test_job import NcclTestJobSpec
from training_workloads.planning.job_prediction import planned_setup
from training_workloads.planning.prediction import predict
from training_workloads.planning.training_setup import TrainingSetup

__all__ = ["FIGURES", "CellSummary", "figures", "medians", "scaling_efficiency", "summarize"]

#: The figures of a repetition, by their place in its results.
FIGURES: Final[Mapping[str, tuple[str, ...]]] = {
    "images_per_second": ("images_per_second",),
    "wall_images_per_second": ("wall_images_per_second",),
    "wall_seconds": ("wall_seconds",),
    "step_milliseconds_p50": ("step_milliseconds", "p50"),
    "step_milliseconds_p99": ("step_milliseconds", "p99"),
    "data_wait_share": ("data_wait_share",),
    "global_batch_size": ("global_batch_size",),
    "bus_bandwidth": ("bus_bandwidth",),
}

# A cell with its records.
_Measured = tuple[dict[str, Any], list[dict[str, Any]]]

# The axes that say how large a run is, rather than what it is.
_SIZES = ("nodes", "workers", "ranks")


@dataclass(frozen=True, kw_only=True, slots=True)
class CellSummary:
    """One cell.

    Attributes:
        cell: Its name.
        values: The recipe, and its value of each axis.
        instance_type: EC2's name; empty for a run on this machine.
        nodes: Nodes.
        ranks: Ranks, and so GPUs of a cluster.
        repetitions: Finished repetitions.
        figures: The medians of their figures.
        usd: Dollars of one of them, the median.
        efficiency: Share of as many times the speed of a rank in the smallest run of the same kind; None
            with one size.
        predicted: Images/s of the plan; None where it knows nothing.
        published: Speeds of the same model in the same precision on as many of the same GPUs, by the name of the run;
            of an NCCL test the bandwidth.
        bandwidths: Bytes and GB/s of an NCCL test, of its last repetition.
        failures: Why repetitions failed.
        networks: What carried the traffic of the ranks.
        machines: Where a local run was measured.
    """

    cell: str
    values: Mapping[str, Any]
    instance_type: str
    nodes: int
    ranks: int
    repetitions: int
    figures: Mapping[str, float]
    usd: float
    efficiency: float | None
    predicted: float | None
    published: Mapping[str, float]
    bandwidths: Sequence[tuple[int, float]] = ()
    failures: Sequence[str] = ()
    networks: Sequence[str] = ()
    machines: Sequence[str] = field(default=())

    @property
    def kind(self) -> tuple[tuple[str, Any], ...]:
        """Its values but for its size: cells of one kind are points of one line."""
        return _kind(self.values)

    @property
    def kind_title(self) -> str:
        """The same as text."""
        return values_text(dict(self.kind))


def figures(results: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of one repetition that its results have."""
    if waits := results.get("data_wait_share_per_rank"):
        # Of results.json itself; the line in a log has the longest wait alone.
        results = {**results, "data_wait_share": max(waits)}
    found = {name: _value(results, path) for name, path in FIGURES.items()}
    return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}


def medians(repetitions: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the median of each figure over the repetitions that have it."""
    names = [name for name in FIGURES if any(name in each for each in repetitions)]
    return {name: statistics.median([each[name] for each in repetitions if name in each]) for name in names}


def scaling_efficiency(speed: float, ranks: int, smallest_speed: float, smallest_ranks: int) -> float:
    """Return the share of the speed that as many ranks would have if each were as fast as in the smallest run."""
    return speed / (smallest_speed * ranks / smallest_ranks)


def summarize(folder: ResultsFolder) -> list[CellSummary]:
    """Return the summary of each cell of a results folder, the smallest first.

    Raises:
        InputError: The folder has no cells.
    """
    measured = _latest(folder.measured())
    speeds: dict[Any, list[tuple[int, float]]] = {}
    for cell, records in measured:
        if speed := _medians_of(records).get("images_per_second"):
            speeds.setdefault(_kind(cell["values"]), []).append((cell["ranks"], speed))
    found = [_summary(cell, records, speeds.get(_kind(cell["values"]), [])) for cell, records in measured]
    return sorted(found, key=lambda each: (each.instance_type, str(each.kind), each.ranks))


def _latest(measured: Sequence[_Measured]) -> list[_Measured]:
    """Return the cells without those that others replace: with the same values, of a sweep that ran later.

    They differ in what is no axis, such as an image, so that no reader could tell them apart.
    """
    in_order = sorted(measured, key=lambda each: float(each[0].get("swept", 0.0)))
    return list({values_text(cell["values"]): (cell, records) for cell, records in in_order}.values())


def _summary(cell: dict[str, Any], records: Sequence[dict[str, Any]], alike: list[tuple[int, float]]) -> CellSummary:
    finished = [each for each in records if each["state"] == FINISHED]
    found = _medians_of(records)
    speed = found.get("images_per_second")
    bandwidths = finished[-1]["results"].get("bandwidths", {}) if finished else {}
    smallest_ranks, smallest_speed = min(alike, default=(0, 0.0))
    # With one size, 100 % would be a share of itself.
    has_sizes = len({ranks for ranks, _ in alike}) > 1
    predicted, published = _beside(cell)
    return CellSummary(
        cell=cell["cell"],
        values=cell["values"],
        instance_type=cell["instance_type"],
        nodes=cell["nodes"],
        ranks=cell["ranks"],
        repetitions=len(finished),
        figures=found,
        usd=statistics.median([each["usd"] for each in finished]) if finished else 0.0,
        efficiency=scaling_efficiency(speed, cell["ranks"], smallest_speed, smallest_ranks)
        if speed and has_sizes
        else None,
        predicted=predicted,
        published=published,
        bandwidths=[(int(size), value) for size, value in bandwidths.items()],
        failures=[str(each.get("reason") or each["state"]) for each in records if each["state"] != FINISHED],
        networks=sorted({each["network"] for each in finished if each.get("network")}),
        machines=sorted({each["machine"] for each in finished if each.get("machine")}),
    )


def _medians_of(records: Sequence[dict[str, Any]]) -> dict[str, float]:
    return medians([figures(each["results"]) for each in records if each["state"] == FINISHED])


def _kind(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value) for name, value in values.items() if name not in _SIZES)


def _value(results: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        results = results.get(key) if isinstance(results, dict) else None
    return results


def _beside(cell: dict[str, Any]) -> tuple[float | None, dict[str, float]]:
    """Return the prediction of the plan, and the published speeds on as many of the same GPUs."""
    setup = _planned(cell)
    if setup is None:
        return None, _published_bandwidth(cell)
    gpu = INSTANCE_TYPES[setup.instance_type].gpu
    alike = (setup.model, setup.precision, gpu.model if gpu else "", cell["ranks"])
    published = {
        f"{each.name}{f' ({each.note})' if each.note else ''}": each.images_per_second
        for each in PUBLISHED_RUNS
        if (each.model, each.precision, each.gpu, each.gpus) == alike
    }
    return predict(setup).images_per_second, published


def _planned(cell: dict[str, Any]) -> TrainingSetup | None:
    """Return what the plan can say of a cell, from its file: as `render` does, for a Horovod job on whole nodes."""
    job, type_name = cell["identity"]["job"], str(cell["instance_type"])
    if job["kind"] != HorovodJobSpec.__name__ or not type_name:
        return None
    if cell["ranks"] != cell["nodes"] * INSTANCE_TYPES[type_name].gpus:
        return None
    mounts = [(each["claim"], each["mount_path"]) for each in job.get("volumes") or ()]
    on = {"instance_type": type_name, "nodes": cell["nodes"], "efa": None if job["efa"] else False}
    return planned_setup(job["command"], job.get("environment") or {}, mounts, **on)


def _published_bandwidth(cell: dict[str, Any]) -> dict[str, float]:
    """Return the published bandwidth of as many nodes of the type, for a test as `NcclTestJobSpec.published` has it."""
    job, facts = cell["identity"]["job"], INSTANCE_TYPES.get(str(cell["instance_type"]))
    figure = facts.all_reduce_bandwidth if facts else None
    if not facts or not figure or job["kind"] != NcclTestJobSpec.__name__ or cell["nodes"] != figure.nodes:
        return {}
    is_alike = job["collective"] == "all_reduce" and job["efa_interfaces"] in (None, facts.efa_interfaces)
    name = f"{figure.nodes} x {facts.name}, {figure.message_gib} GiB"
    return {name: figure.gigabytes_per_second} if is_alike else {}
