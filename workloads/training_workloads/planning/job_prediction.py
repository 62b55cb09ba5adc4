"""The predicted speed of a job, which `render` writes into its annotations.

A job gets no prediction where one option, variable or number is unknown to the plan.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from training_workloads.catalog.published_rates import MASK_RCNN, RESNET50
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.jobs.volumes import LUSTRE_CLAIM
from training_workloads.mpijob import programs
from training_workloads.mpijob.api import PREDICTION_ANNOTATION
from training_workloads.planning.prediction import predict
from training_workloads.planning.training_setup import TrainingSetup, may_be_shown
from training_workloads.validation import InputError

__all__ = ["planned_setup", "predicted_annotations"]

#: Prefixes of variables that change the network or the compiled graph.
_CHANGES_THE_STEP: Final = ("HOROVOD_", "NCCL_", "FI_", "TF_XLA_", "XLA_")

_PRECISIONS: Final = {"mixed_float16": "mixed", "float32": "float32"}
_STORAGES: Final = {"off": "lustre", "records": "memory"}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Program:
    """A program of the image whose model the plan has.

    Attributes:
        model: The plan's name of the model.
        command: How a job's command begins.
        batches: Images on each GPU by the program's recipe; the empty one is that of a program without recipes.
        recipe: The recipe without the option.
        fixed: Options that the published rates have with this value only; None: not given.
    """

    model: str
    command: tuple[str, ...]
    batches: Mapping[str, int]
    recipe: str = ""
    fixed: Mapping[str, str | None] = field(default_factory=dict)


#: Options of every program: without XLA, or with the same bits every time, a GPU is slower by an unknown share.
_FIXED: Final[dict[str, str | None]] = {"--xla": "on", "--deterministic": None}

#: The defaults are those of the `Settings` of training/resnet50 and training/mask_rcnn.
_PROGRAMS: Final = (
    _Program(
        model=RESNET50,
        command=programs.RESNET50,
        batches={"": 256},
        fixed={
            **_FIXED,
            "--strategy": "horovod",
            "--synthetic": None,
            "--decode": "cpu",
            "--image-size": "224",
            "--classes": "1000",
        },
    ),
    _Program(
        model=MASK_RCNN,
        command=programs.MASK_RCNN,
        batches={"reference": 1, "throughput": 4},
        recipe="reference",
        fixed={**_FIXED, "--architecture": "resnet50-fpn", "--short-side": "800", "--long-side": "1333"},
    ),
)


def predicted_annotations(spec: Any) -> dict[str, str]:
    """Return the annotation of a job with its predicted speed; none for a job that the plan does not know.

    The speed of an elastic job follows the workers that it has.
    """
    setup = planned_setup(spec)
    if setup is None:
        return {}
    predicted = {"gpus": spec.world_size, "images_per_second": round(predict(setup).images_per_second)}
    return {PREDICTION_ANNOTATION: json.dumps(predicted)}


def planned_setup(spec: Any) -> TrainingSetup | None:
    """Return the setup that the plan predicts for a job, for `render` and for the report of `bench`.

    It is None where the plan does not know an option, or its figure may not be shown.
    """
    # An elastic job is a kind of Horovod job too.
    if type(spec) is not HorovodJobSpec or spec.resources.gpus != spec.instance.gpus:
        return None
    values = _planned_values(spec.command, spec.environment)
    if values is None or not _is_on_lustre(spec):
        return None
    interfaces = spec.resources.efa_interfaces
    if 0 < interfaces < spec.instance.efa_interfaces:
        return None
    try:
        setup = TrainingSetup(instance_type=spec.instance_type, nodes=spec.workers, efa=interfaces > 0, **values)
    except InputError:
        # Nothing is published for this GPU, or the nodes cannot hold the images.
        return None
    return setup if may_be_shown(setup) else None


def _planned_values(command: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any] | None:
    """Return a program's model and options as the plan's; None where the plan has no such option."""
    program = next((one for one in _PROGRAMS if tuple(command[: len(one.command)]) == one.command), None)
    if program is None or any(name.startswith(_CHANGES_THE_STEP) for name in environment):
        return None
    options = _options(command[len(program.command) :])
    if any(options.get(name, value) != value for name, value in program.fixed.items()):
        return None
    return _values(program, options)


def _options(words: Sequence[str]) -> dict[str, str]:
    """Return the options with their values, the last one where one is repeated; empty for one without."""
    found: dict[str, str] = {}
    for word, following in zip(words, (*words[1:], "--"), strict=True):
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            found[name] = value if equals else "" if following.startswith("--") else following
    return found


def _values(program: _Program, options: Mapping[str, str]) -> dict[str, Any] | None:
    """Translate a program's options into the plan's; None where the plan has none for it."""
    batch = options.get("--batch-size", str(program.batches.get(options.get("--recipe", program.recipe), "")))
    precision = _PRECISIONS.get(options.get("--precision", "mixed_float16"))
    storage = _STORAGES.get(options.get("--cache", "off"))
    if not batch.isdecimal() or precision is None or storage is None:
        return None
    compression = options.get("--compression", "none")
    return {
        "model": program.model,
        "batch_size": int(batch),
        "precision": precision,
        "compression": compression,
        "storage": storage,
    }


def _is_on_lustre(spec: HorovodJobSpec) -> bool:
    folder = _options(spec.command).get("--data-dir", "")
    return any(
        each.claim == LUSTRE_CLAIM and folder.startswith(each.mount_path.rstrip("/") + "/") for each in spec.volumes
    )
