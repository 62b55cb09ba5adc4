"""The options that several training programs share."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from .command_line import path, whole_number
from .every import Every, every
from .options import option


# Without slots: a program combines several of these classes.
@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The options of every program that trains on images.

    None is an option that was not given, which the recipe or the device decides.
    """

    data_dir: Path | None = option(path, "folder of the images", group="data")
    on_bad_data: str = option(
        ("stop", "skip"),
        "a damaged record, image or shard ends the run, or is skipped and counted",
        default="stop",
        group="data",
    )

    epochs: int = option(whole_number(1), "passes over the images", group="recipe", learned=True)
    batch_size: int = option(whole_number(1), "images per rank and step", group="recipe")
    seed: int = option(
        whole_number(0, 2**32 - 1),
        "of the weights, the order of images and their crops",
        default=0,
        group="recipe",
        learned=True,
    )

    precision: str | None = option(
        ("mixed_float16", "float32"),
        "of the layers; weights are float32 in any case (a GPU: mixed_float16, else float32)",
        default=None,
        group="machine",
        learned=True,
    )
    deterministic: bool = option(
        bool, "the same weights to the last bit every time; slower on a GPU", default=False, group="machine"
    )

    output_dir: Path = option(path, "folder for the results; a run in it resumes", group="output")
    checkpoint_every: Every = option(
        every,
        "write a checkpoint every 500steps, 2epochs or 10min; one follows the last epoch too",
        default=every("10min"),
        metavar="N",
        group="output",
    )
    evaluate_every: Every = option(
        every,
        "test every 500steps, 2epochs or 10min; the last epoch is tested in any case",
        default=every("1epoch"),
        metavar="N",
        group="output",
    )
    keep_checkpoints: int = option(whole_number(1), "checkpoints to keep", default=3, group="output")

    def on_device(self, *, gpu: bool) -> Self:
        """Return the settings with the values of a GPU or a CPU where they are not given."""
        return replace(self, precision=self.precision or ("mixed_float16" if gpu else "float32"))

    @property
    def skip_damaged(self) -> bool:
        """Whether another record replaces a damaged one; otherwise it ends the run."""
        return self.on_bad_data == "skip"

    def ways_to_less_memory(self) -> list[str]:
        """Return the options with which the run needs less memory, a clause each."""
        size = self.batch_size
        ways = [f"'--batch-size' is {size}: give {size // 2} or less"] if size > 1 else []
        if self.precision == "float32":
            ways.append("on a GPU '--precision mixed_float16' halves what the layers keep")
        return ways


@dataclass(frozen=True, kw_only=True)
class TensorFlowSettings(RunSettings):
    """The options of a program that computes with TensorFlow."""

    xla: str | None = option(
        ("on", "off"), "compile the graph with XLA (a GPU: on, else off)", default=None, group="machine"
    )
    compression: str = option(
        ("none", "fp16"),
        "fp16 sends half the bytes of the gradients, for networks without EFA",
        default="none",
        group="machine",
    )

    def on_device(self, *, gpu: bool) -> Self:
        """Return the settings with the values of a GPU or a CPU where they are not given."""
        return replace(super().on_device(gpu=gpu), xla=self.xla or ("on" if gpu else "off"))
