"""The page that compares the predictions of `trainctl plan` with published figures, and its chart."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from textwrap import fill

from training_workloads.catalog.all_reduce_curves import EFA_PAIRS, NVLINK_GIGABYTES
from training_workloads.catalog.published_rates import MASK_RCNN, MODELS
from training_workloads.catalog.published_runs import PUBLISHED_RUNS, PublishedRun
from training_workloads.planning.all_reduce import Network, all_reduce_seconds
from training_workloads.planning.calibration import (
    between_nodes,
    fitted_constants,
    hop_seconds,
    line_rate_share,
    predicted_rate,
    within_node,
)
from training_workloads.planning.chart import PUBLISHED, Line, line_chart
from training_workloads.planning.prediction import predict
from training_workloads.planning.published_comparison import (
    Compared,
    compared_bandwidths,
    compared_runs,
    median_error,
    unfitted,
)
from training_workloads.planning.training_setup import TrainingSetup

__all__ = ["seed_chart", "validation_page"]

_P3 = "p3.16xlarge"
_SEED_GPUS = 160
_LIMIT = 0.25
_ISSUE = "horovod/issues/779"

_HEAD = """
Predictions of [`trainctl plan`](plan.md) for runs that were published; none of them was measured here.
Each row has its own program and settings, so that not every default of `plan` is tested: no row is calculated with an
all-reduce in two steps, gradients in float16, a fusion buffer of 16 MiB, or a wait for images.
`make pictures` writes this page from [planning/](../workloads/training_workloads/planning), and from
[published_runs.py](../workloads/training_workloads/catalog/published_runs.py) and
[all_reduce_curves.py](../workloads/training_workloads/catalog/all_reduce_curves.py), which have the rows.
"""

_FITTED = """
No constant belongs to one row or to one program. The computation of a step is that of the published single GPU, or of
the 8 GPUs of one node for Mask R-CNN, of which no single GPU was published.
"""

_LEFT_OUT = """
"Left out" is the error where the constants are the medians of those that all other rows imply. For the share of the
line rate there is no other row. Most other rows of a p5.48xlarge are of large messages, which imply the error of the
bandwidth rather than a latency.
"""

_PROTOCOLS = """
NCCL may send smaller messages there with the protocol LL128, which has a lower latency: on P4d and P4de AWS's plugin
allows only "Simple"
([platform-aws.c](https://github.com/aws/aws-ofi-nccl/blob/008a28b4960f4f3d8fc47962877a6434f2dff622/src/platform-aws.c)).
"""

_NOT_COMPARED = """
- **Not compared**: programs without a published rate on one GPU or node (64 V100 in AWS's article of 2018, MLPerf on 8
A100 and on 64 and 512 H100, TensorFlow 2 with Keras on 8 V100); models that `plan` does not have (EfficientNet,
Inception V3, ResNet-101, VGG-16); GPUs without the needed figures in the catalog (P100, Habana's processors, pairs of
p6-b200.48xlarge); set-ups that are known to be slow (Horovod issue 396, NCCL issue 527); and gradients that are
reduced in another way (NVIDIA's Mask R-CNN with MirroredStrategy). Nothing is published for TensorFlow on H100, and
nothing was compared beyond 20 nodes.
- **An all-reduce in two steps with buffers of 16 MiB**, which AWS's scripts for P3 set
([one of them](https://github.com/aws-samples/deep-learning-models/blob/master/legacy/models/resnet/tensorflow/dlami_scripts/train_synthetic.sh)),
may be behind the rows of p3.16xlarge: 52 % instead of 42 % of a transfer would be hidden, and no error of these rows
would differ by more than 1.2 points.
- **Input**: how many images a vCPU of EC2 prepares is an estimate. No row tests it.
"""


# NCCL issue 235: milliseconds of an all-reduce of 70 MB over EFA, by the nodes; and the README's hours of Mask R-CNN
# with 12 and with 24 epochs, by the GPUs.
_P3DN = "https://github.com/NVIDIA/nccl/issues/235"
_P3DN_MILLISECONDS = {2: 11, 4: 16, 8: 18}
_MASK_RCNN_HOURS = {12: {8: 5.09, 32: 1.94}, 24: {8: 9.78, 32: 3.33}}


def validation_page() -> str:
    """Return the page as Markdown."""
    runs, bandwidths = compared_runs(), compared_bandwidths()
    parts = [
        "# Predictions beside published figures",
        _wrapped(_HEAD),
        _summary(runs, bandwidths),
        "## The fitted constants",
        _constants(),
        _wrapped(_FITTED),
        "## Training\nImages per second.",
        _table("run", "GPUs", runs, lambda row: f"{row.size}", "{:,.0f}"),
        "\n".join(_notes(runs)),
        _wrapped(_LEFT_OUT),
        "## All-reduce over EFA\nBus bandwidth of nccl-tests with two nodes, in GB/s.",
        _table("pair of", "message", bandwidths, lambda row: f"{row.size >> 20:,} MiB", "{:.1f}"),
        "## Limits of the model",
        "\n".join(_limits(runs, bandwidths)),
        _seed_section(),
    ]
    return "\n\n".join(parts)


def seed_chart() -> str:
    """Return the chart of 1 to 20 nodes as SVG."""
    nodes = (1, 2, 4, 8, 16, 20)
    seed, constants = _seed(), fitted_constants()
    old = [(8 * count, predicted_rate(replace(seed, gpus=8 * count), constants)) for count in nodes]
    today = [predict(_today(count)) for count in nodes]
    ideal = [(each.gpus, each.gpus * 1270.0) for each in today]
    published = [(run.gpus, run.images_per_second) for run in PUBLISHED_RUNS if run.source.endswith(_ISSUE)]
    lines = [
        Line(name="1,270 images/s for each GPU", points=ideal, dashed=True),
        Line(name="predicted, today's settings", points=[(each.gpus, each.images_per_second) for each in today]),
        Line(name="predicted, without XLA", points=old),
        Line(name="published, 98,000 on 160", points=[(_SEED_GPUS, seed.images_per_second)], marks=True),
        Line(name="published, Horovod issue 779", points=published, marks=True, color=PUBLISHED),
    ]
    return line_chart(f"ResNet-50 on {_P3}", "V100 GPUs", "images/s", lines).decode()


def _wrapped(text: str) -> str:
    """Return paragraphs and items of a list with lines of at most 120 characters; links stay whole."""
    items = text.strip().replace("\n- ", "\n\n- ").split("\n\n")
    return "\n".join(
        fill(
            " ".join(item.split()),
            120,
            subsequent_indent="  " if item.startswith("- ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for item in items
    )


def _percent(share: float) -> str:
    return f"{share:+.1%}".replace("%", " %")


def _summary(runs: Sequence[Compared], bandwidths: Sequence[Compared]) -> str:
    rows = [*runs, *bandwidths]
    free = unfitted(rows)
    beyond = sum(abs(row.error) > _LIMIT for row in free)
    every, training, network = (100 * median_error(each) for each in (free, unfitted(runs), unfitted(bandwidths)))
    far_off = f"{beyond or 'none'} {'are' if beyond > 1 else 'is'} more than 25 % off"
    left_out = 100 * median_error(rows, lambda row: row.left_out_error)
    alone = [abs(row.left_out_error) for row in rows if row.left_out_error is not None]
    far_alone = sum(each > _LIMIT for each in alone)
    perfect = [
        abs(run.gpus / run.base_gpus * run.base_images_per_second / run.images_per_second - 1) for run in _free()
    ]
    return _wrapped(
        f"**{len(rows)} rows, of which {len(rows) - len(free)} were used to fit. Of the other {len(free)} the median "
        f"error is {every:.1f} %** ({training:.1f} % of training, {network:.1f} % of bandwidths; the bar is 10 %), "
        f"**and {far_off}. With each row left out in turn the median is {left_out:.1f} %, the worst is "
        f"{100 * max(alone):.1f} %, and {far_alone} of {len(alone)} are more than 25 % off.** "
        "Perfect scaling, which is the rate of the smaller run by the number of GPUs, would be off by "
        f"{100 * statistics.median(perfect):.1f} % in the median of the same {len(perfect)} rows of training, and by "
        f"{100 * max(perfect):.1f} % in the worst."
    )


def _free() -> list[PublishedRun]:
    return [run for run in PUBLISHED_RUNS if not run.fitted]


def _constants() -> str:
    constants = fitted_constants()
    types = dict.fromkeys(point.instance_type for point in EFA_PAIRS)
    within = ", ".join(f"{within_node(gpu).bytes_per_second / 1e9:.1f} GB/s ({gpu})" for gpu in NVLINK_GIGABYTES)
    latencies = ", ".join(f"{hop_seconds(name) * 1e6:.0f} µs ({name})" for name in types)
    return f"""| constant | value | rows |
|---|---|---|
| coordination: time that a step loses with several ranks | {constants.coordination_seconds * 1e3:.1f} ms | \
two: NVIDIA's TensorFlow with mixed precision and XLA on a DGX-1 and on a DGX A100 |
| part of a transfer that the backward pass beside it hides | {100 * constants.hidden_share:.0f} % | \
one: 64 V100 on {_P3} |
| bus bandwidth within a node of 8 GPUs | {within} | as published, and in no table below: one result each of a \
p4d.24xlarge, 1 GiB, and of a p5.48xlarge, 2 GiB; V100 has the A100's share of its NVLinks |
| part of the network's line rate | {100 * line_rate_share():.1f} % | one: a pair of p4de.24xlarge, 2 GiB |
| latency of a hop, by type | {latencies} | two each, of which it is the mean: 32 and 64 MiB |"""


def _table(what: str, size: str, rows: Sequence[Compared], sized: Callable[[Compared], str], number: str) -> str:
    lines = [
        f"| {what} | {size} | published | predicted | error | left out | fitted to it |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        left_out = "" if row.left_out_error is None else _percent(row.left_out_error)
        values = [number.format(row.published), number.format(row.predicted), _percent(row.error), left_out, row.fitted]
        lines.append(f"| [{row.name}]({row.source}) | {sized(row)} | {' | '.join(values)} |")
    return "\n".join(lines)


def _notes(rows: Sequence[Compared]) -> Iterator[str]:
    notes = dict.fromkeys((row.name, row.note) for row in rows if row.note)
    yield from (_wrapped(f"- {name}: {note}.") for name, note in notes)


def _limits(runs: Sequence[Compared], bandwidths: Sequence[Compared]) -> Iterator[str]:
    free = unfitted(runs)
    yield _wrapped(_one_latency(max(unfitted(bandwidths), key=lambda row: abs(row.error))))
    yield _wrapped(
        f"- **{sum(row.error > 0 for row in free)} of the {len(free)} predicted speeds are too high**: a real run has "
        "losses that the model does not have, such as images that come late."
    )
    yield _wrapped(_p3dn())
    yield _wrapped(_whole_runs(next(run for run in PUBLISHED_RUNS if run.model == MASK_RCNN and run.gpus == 32)))
    yield _wrapped(_NOT_COMPARED)


def _p3dn() -> str:
    """Return how far the first results of EFA are from the model."""
    link = between_nodes(100, instance_type="p3dn.24xlarge")
    networks = [
        Network(within=within_node("V100"), between=link, gpus_per_node=8, nodes=nodes) for nodes in _P3DN_MILLISECONDS
    ]
    predicted = ", ".join(f"{all_reduce_seconds(70e6, each) * 1e3:.1f}" for each in networks)
    published = ", ".join(map(str, _P3DN_MILLISECONDS.values()))
    return (
        "- **A p3dn.24xlarge may be slower than predicted.** Its results are of the first releases of EFA's plugin, in "
        f"2019, and are not compared: 70 MB on {', '.join(map(str, _P3DN_MILLISECONDS))} nodes took {published} ms "
        f"([NCCL issue 235]({_P3DN})), where the model has {predicted}."
    )


def _whole_runs(run: PublishedRun) -> str:
    """Return the errors of Mask R-CNN by the hours of whole runs."""
    errors = []
    for epochs, hours in _MASK_RCNN_HOURS.items():
        base, published = (
            epochs * MODELS[run.model].training_images / (hours[gpus] * 3600) for gpus in (run.base_gpus, run.gpus)
        )
        rate = predicted_rate(replace(run, base_images_per_second=base), fitted_constants())
        errors.append(_percent(rate / published - 1))
    return (
        "- Mask R-CNN is compared without the start, by the hours of 24 epochs less those of 12. By those of whole "
        f"runs the prediction for {run.gpus} GPUs would be {errors[0]} off with 12 epochs, and {errors[1]} with 24."
    )


def _one_latency(worst: Compared) -> str:
    """Return why one latency for all sizes does not fit the row with the largest error."""
    hops = [hop_seconds(worst.name, size << 20) * 1e6 for size in (16, 128)]
    slower = [hop_seconds("p4de.24xlarge", size << 20) * 1e6 for size in (16, 128)]
    return (
        f"- **{worst.name}, {worst.size >> 20} MiB: {_percent(worst.error)}.** The model has one latency for all "
        "sizes, that of the messages which jobs with EFA send: from one of ResNet-50's four clusters of gradients, "
        f"25.6 MB, to a full fusion buffer, 64 MiB. This row implies a hop of {hops[0]:.0f} µs, and that of 128 MiB "
        f"{hops[1]:.0f} µs; on p4de.24xlarge both imply about the same ({slower[0]:.0f} and {slower[1]:.0f} µs). "
        f"{' '.join(_PROTOCOLS.split())} These sizes were chosen when this row was known to be far off with the "
        "latency of 128 MiB."
    )


def _seed_section() -> str:
    seed = _seed()
    today = predict(_today(_SEED_GPUS // 8))
    then = predicted_rate(seed, fitted_constants())
    each = _SEED_GPUS * seed.base_images_per_second
    intro = _wrapped(
        f"AWS's article on deep learning with EKS is quoted with {seed.images_per_second:,.0f} images/s on 20 {_P3}, "
        "at 90 to 100 % scaling. The figure is unconfirmed: only the beginning of the page could be read. It is "
        f"{seed.images_per_second / _SEED_GPUS:.0f} images/s of each GPU."
    )
    end = _wrapped(
        f"The last row is `trainctl plan --instance-type {_P3} --nodes 20 --compression fp16`. It is derived, and no "
        "such run is known."
    )
    return f"""## ResNet-50 on 160 V100
{intro}

![Images per second over the number of V100](pictures/plan-seed.svg)

| | images/s | efficiency against one GPU |
|---|---|---|
| published | {seed.images_per_second:,.0f} | {100 * seed.images_per_second / each:.0f} % of the 872 of the same \
author's program |
| predicted for that program, without XLA | {then:,.0f} | {100 * then / each:.0f} % |
| predicted for today's settings: XLA with split clusters, gradients in float16 | {today.images_per_second:,.0f} | \
{100 * today.efficiency_of_one_gpu:.0f} % of NVIDIA's 1,270 |

{end}
"""


def _seed() -> PublishedRun:
    return next(run for run in PUBLISHED_RUNS if run.gpus == _SEED_GPUS)


def _today(nodes: int) -> TrainingSetup:
    return TrainingSetup(model="resnet50", instance_type=_P3, nodes=nodes, compression="fp16")
