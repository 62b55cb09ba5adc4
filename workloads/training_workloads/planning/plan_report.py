"""A prediction as text for readers, and as values for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from training_workloads.catalog.instances import gpu_instance_type
from training_workloads.planning.plan_search import SWEPT_NODES
from training_workloads.planning.prediction import Prediction
from training_workloads.planning.step_time import StepTime

__all__ = ["compared_text", "plan_text", "sweep_chart", "sweep_text", "values"]

_HEADS = (
    "nodes",
    "GPUs",
    "images/s",
    "of 1 GPU",
    "of 1 node",
    "step ms",
    "exposed ms",
    "epoch min",
    "$/epoch",
    "limit",
)


def plan_text(one: Prediction) -> str:
    """Return one prediction, a line for each subject."""
    return "\n".join(f"{name:<12} {text}" for name, text in _subjects(one))


def compared_text(before: Prediction, after: Prediction) -> str:
    """Return two predictions side by side: what is, and what would be."""
    pairs = list(zip(_subjects(before), _subjects(after), strict=True))
    if all(first == second for first, second in pairs):
        return f"{plan_text(before)}\n{'what if':<12} the same: nothing changes"
    return "\n".join(
        f"{name:<12} {first}" if first == second else f"{name:<12} {first}\n{'':<9} -> {second}"
        for (name, first), (_, second) in pairs
    )


def sweep_text(found: Sequence[Prediction]) -> str:
    """Return a table with a row for each number of nodes, and notes on it."""
    rows = [_HEADS, *(_row(one) for one in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    table = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([*table, "", *_sweep_notes(found)])


def sweep_chart(found: Sequence[Prediction], form: str) -> bytes:
    """Return the speed over the GPUs as a picture, beside the line of a speed that grows as they do."""
    from training_workloads.planning.chart import Line, line_chart

    first = found[0]
    per_gpu = first.images_per_second / first.efficiency_of_one_gpu / first.gpus
    ideal = Line(name="ideal scaling", points=[(one.gpus, one.gpus * per_gpu) for one in found], dashed=True)
    predicted = Line(name="predicted", points=[(one.gpus, one.images_per_second) for one in found])
    title = f"{first.setup.model} on {first.setup.instance_type}"
    return line_chart(title, "GPUs", "images/s", [predicted, ideal], form=form)


def values(one: Prediction) -> dict[str, Any]:
    """Return everything as JSON's types; times in seconds, prices in dollars."""
    parts = asdict(one)
    del parts["rate"]
    return {
        **parts,
        "step": {f"{name}_seconds": value for name, value in parts["step"].items()} | {"total_seconds": one.step.total},
        "supply": {f"{name}_images_per_second": value for name, value in (parts["supply"] or {}).items()},
        "seconds_to_accuracy": one.seconds_to_accuracy,
        "usd_to_accuracy": one.usd_to_accuracy,
        "source": one.rate.source,
        "note": one.rate.note,
    }


def _sweep_notes(found: Sequence[Prediction]) -> Iterator[str]:
    yield "Calculated from published figures, not measured."
    if note := found[0].rate.note:
        yield f"The rate of the GPU is {note}."
    if burst := _burst(found[0]):
        yield f"The network of {burst}."
    if left_out := sorted(set(SWEPT_NODES) - {one.setup.nodes for one in found}):
        counts = ", ".join(map(str, left_out))
        yield f"Not possible, so without a row: {counts} nodes; `--nodes {left_out[0]}` instead of `--sweep` says why."


def _subjects(one: Prediction) -> Iterator[tuple[str, str]]:
    setup = one.setup
    network = "EFA" if setup.uses_efa else "TCP"
    gpus = "1 GPU" if one.gpus == 1 else f"{one.gpus} GPUs"
    yield "plan", f"{setup.model} on {setup.nodes} x {setup.instance_type}, {gpus}, {network}, not measured"
    yield "batch", f"{one.global_batch // one.gpus} images a GPU, {one.global_batch:,} in all"
    efficiencies = (
        f"efficiency {one.efficiency_of_one_gpu:.1%} against one GPU, {one.efficiency_of_one_node:.1%} against one node"
    )
    ceiling = " at most (a ceiling)" if one.rate.is_ceiling else ""
    yield "speed", f"{one.images_per_second:,.0f} images/s{ceiling}, {efficiencies}"
    yield "step", _step_text(one.step)
    yield "all-reduce", _all_reduce_text(one)
    yield "input", _input_text(one)
    yield "storage", str(one.lustre) if one.lustre else "images from memory; Lustre serves the first epoch only"
    yield "epoch", _epoch_text(one)
    yield "price", _price_text(one)
    yield "limit", one.bottleneck
    yield "source", f"{one.rate.source}{f' ({one.rate.note})' if one.rate.note else ''}"


def _step_text(step: StepTime) -> str:
    parts = {
        "computation": step.computation,
        "coordination": step.coordination,
        "exposed all-reduce": step.exposed_all_reduce,
        "wait for images": step.input_wait,
    }
    return f"{step.total * 1e3:.1f} ms: " + ", ".join(f"{name} {value * 1e3:.1f}" for name, value in parts.items())


def _all_reduce_text(one: Prediction) -> str:
    if one.gpus == 1:
        return "none: one GPU has all gradients"
    hidden = "in part" if one.step.exposed_all_reduce < one.all_reduce_seconds else "nothing of it is"
    burst = f"; {_burst(one)}" if one.setup.nodes > 1 and _burst(one) else ""
    return f"{one.all_reduce_seconds * 1e3:.1f} ms, {hidden} hidden behind the backward pass{burst}"


def _burst(one: Prediction) -> str:
    """Return a warning where AWS writes "up to" before the bandwidth, and no figure for the bandwidth that lasts."""
    facts = gpu_instance_type(one.setup.instance_type)
    if not facts.network_bursts:
        return ""
    return f"{facts.network_gbps:g} Gb/s is a burst, which a long run does not keep: with several nodes it is slower"


def _input_text(one: Prediction) -> str:
    if one.supply is None:
        return f"{one.vcpus:,} vCPUs; what they give was not measured for this model, so nothing waits in this plan"
    supply = f"{one.supply.least:,.0f} to {one.supply.most:,.0f} images/s (estimated)"
    return f"{one.vcpus_needed:,} vCPUs needed; there are {one.vcpus:,}, which give {supply}"


def _epoch_text(one: Prediction) -> str:
    checkpoint = f"a checkpoint takes {one.checkpoint_seconds:.1f} s beside the training"
    return f"{_duration(one.epoch_seconds)}, with {one.evaluation_seconds:.1f} s of evaluation; {checkpoint}"


def _price_text(one: Prediction) -> str:
    if one.usd_per_epoch is None:
        return "this type has no On-Demand price"
    epoch = f"${one.usd_per_epoch:,.2f} an epoch (instances only)"
    if one.usd_to_accuracy is None or one.seconds_to_accuracy is None:
        return f"{epoch}; {one.accuracy}"
    return f"{epoch}, ${one.usd_to_accuracy:,.2f} and {_duration(one.seconds_to_accuracy)} to {one.accuracy}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def _row(one: Prediction) -> tuple[str, ...]:
    return (
        str(one.setup.nodes),
        str(one.gpus),
        f"{one.images_per_second:,.0f}",
        f"{one.efficiency_of_one_gpu:.1%}",
        f"{one.efficiency_of_one_node:.1%}",
        f"{one.step.total * 1e3:.1f}",
        f"{one.step.exposed_all_reduce * 1e3:.1f}",
        f"{one.epoch_seconds / 60:.3g}",
        "-" if one.usd_per_epoch is None else f"{one.usd_per_epoch:,.2f}",
        one.bottleneck,
    )
