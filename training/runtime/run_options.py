"""The options that the training programs share, in their command lines' groups."""

import argparse

from training.runtime import command_line
from training.runtime.every import every


def add_on_bad_data(add_to: argparse._ActionsContainer) -> None:
    """Add what a damaged record does."""
    add_to.add_argument(
        "--on-bad-data",
        choices=("stop", "skip"),
        default="stop",
        help="a damaged record, image or shard ends the run, or is skipped and counted (%(default)s)",
    )


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add how the machine computes; what is not given for `--precision` and `--xla` follows from the device."""
    add = parser.add_argument_group("machine").add_argument
    add(
        "--precision",
        choices=("mixed_float16", "float32"),
        help="of the layers; weights are float32 in any case (a GPU: mixed_float16, else float32)",
    )
    add("--xla", choices=("on", "off"), help="compile the graph with XLA (a GPU: on, else off)")
    add(
        "--compression",
        choices=("none", "fp16"),
        default="none",
        help="fp16 sends half the bytes of the gradients, for networks without EFA (%(default)s)",
    )
    add("--deterministic", action="store_true", help="the same weights to the last bit every time; slower on a GPU")


def add_output(parser: argparse.ArgumentParser, *, files: str, evaluation: str = "") -> None:
    """Add where and when a run writes.

    Args:
        parser: Of the program.
        files: What it writes into its folder, such as "results.json and model.keras".
        evaluation: More about `--evaluate-every`.
    """
    add = parser.add_argument_group("output").add_argument
    add("--output-dir", type=command_line.path, required=True, help=f"folder for {files}; a run in it resumes")
    add(
        "--checkpoint-every",
        type=every,
        default=every("10min"),
        metavar="N",
        help="write a checkpoint every 500steps, 2epochs or 10min; one follows the last epoch too (%(default)s)",
    )
    add(
        "--evaluate-every",
        type=every,
        default=every("1epoch"),
        metavar="N",
        help=f"test every 500steps, 2epochs or 10min; the last epoch is tested in any case{evaluation} (%(default)s)",
    )
    add("--keep-checkpoints", type=command_line.whole_number(1), default=3, help="checkpoints to keep (%(default)s)")
