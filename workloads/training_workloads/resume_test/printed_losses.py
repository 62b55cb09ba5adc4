"""The losses that a program prints, each with its place in the training, whatever the program's words for it.

Read are lines such as `epoch 5/12: loss 0.61`, `step 40 loss=2.3e-01`, Keras' `Epoch 2/5` and ` 3/45 [>…] - loss: 2.1`,
the bars of Lightning, and the dictionaries of Hugging Face's Trainer: `{'loss': 1.2, 'epoch': 0.5}`.
An accuracy, an error or a perplexity counts as a loss.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = ["LEARNING_RATE", "Loss", "printed_losses"]

#: A learning rate is not a loss, but explains another one.
LEARNING_RATE = "learning rate"

_RANK = re.compile(r"rank +(\d+) \| ")
# Colors and cursor movements: https://en.wikipedia.org/wiki/ANSI_escape_code
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# A bar that is drawn again begins after one of these.
_REDRAWN = re.compile(r"[\r\b]+")

_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)\b"
_LOSS = r"\w*loss(?:_\w+)?|(?:\w+_)?acc(?:uracy)?|mae|mse|\w*perplexity|ppl"
_SAYS = r"""['"]?(?:\s*[:=]\s*|\s+)['"]?"""
_VALUE = re.compile(rf"\b(?:(?P<loss>{_LOSS})|lr|learning[_ ]rate){_SAYS}(?P<value>{_NUMBER})", re.IGNORECASE)
_EPOCH = re.compile(r"""epochs?['"]?\s*[:=#]?\s*['"]?(\d+(?:\.\d+)?)(?:\s*/\s*\d+)?""", re.IGNORECASE)
_STEP = re.compile(r"""(?:steps?|iter(?:ation)?s?|batch(?:es)?)['"]?\s*[:=#]?\s*['"]?(\d+)""", re.IGNORECASE)
_OF = re.compile(r"(?<![\d/.:])(\d+)\s*/\s*\d+(?![\d/])")


@dataclass(frozen=True, slots=True)
class Loss:
    """A printed number and its place."""

    rank: str
    """Such as "rank 0, "; empty where the line has none."""
    place: str
    """Such as "epoch 2, step 30, loss": the same text in two runs is the same moment of the training."""
    value: str
    """The number, as printed."""

    @property
    def is_loss(self) -> bool:
        """Whether it is a loss and not a learning rate."""
        return not self.place.endswith(LEARNING_RATE)


def printed_losses(lines: Iterable[str]) -> Iterator[Loss]:
    """Yield the losses and learning rates of the lines of a run, in their order.

    A line without an epoch belongs to the last epoch that the same rank has named.
    """
    epochs: dict[str, str] = {}
    for line in lines:
        tag = _RANK.match(line)
        rank = f"rank {tag[1]}, " if tag else ""
        for piece in _REDRAWN.split(_ANSI.sub("", line[tag.end() if tag else 0 :])):
            if epoch := _EPOCH.search(piece):
                epochs[rank] = epoch[1]
            values = list(_VALUE.finditer(piece))
            if not values:
                continue
            rest = _EPOCH.sub("", piece)
            step = _STEP.search(rest) or _OF.search(rest[: values[0].start()] if not epoch else rest)
            where = [f"epoch {epochs[rank]}"] if rank in epochs else []
            where += [f"step {step[1]}"] if step else []
            for found in values:
                shown = found["loss"].lower() if found["loss"] else LEARNING_RATE
                yield Loss(rank, ", ".join([*where, shown]), found["value"])
