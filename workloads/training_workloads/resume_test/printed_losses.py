"""The losses that a program prints, each with its place in the training, whatever the program's words for it.

Read are lines such as `epoch 5/12: loss 0.61`, `step 40 loss=2.3e-01`, Keras' `Epoch 2/5` and ` 3/45 [>…] - loss: 2.1`,
the bars of Lightning, and the dictionaries of Hugging Face's Trainer: `{'loss': 1.2, 'epoch': 0.5}`.
An accuracy, an error or a perplexity counts as a loss. Each drawing of a bar is read.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = ["LEARNING_RATE", "Loss", "LossReader", "printed_losses"]

#: A learning rate is not a loss, but explains another one.
LEARNING_RATE = "learning rate"

_RANK = re.compile(r"rank +(\d+) \| ")
# Colors and cursor movements: https://en.wikipedia.org/wiki/ANSI_escape_code
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# A bar is drawn again after one of these.
_REDRAWN = re.compile(r"[\r\b]+")
# The bars of tqdm, Keras and Rich, of which torchrun makes lines.
_BAR = re.compile(r"\d%\s?\||\[[=>.]{3,}\]|━|it/s\b|s/it\b")

_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)\b"
_LOSS = r"\w*loss(?:_\w+)?|(?:\w+_)?acc(?:uracy)?|mae|mse|\w*perplexity|ppl"
_SAYS = r"""['"]?(?:\s*[:=]\s*|\s+)['"]?"""
_VALUE = re.compile(rf"\b(?:(?P<loss>{_LOSS})|lr|learning[_ ]rate){_SAYS}(?P<value>{_NUMBER})", re.IGNORECASE)
_EPOCH = re.compile(r"""epochs?['"]?\s*[:=#]?\s*['"]?(\d+(?:\.\d+)?)(?:\s*/\s*\d+)?""", re.IGNORECASE)
_STEP = re.compile(r"""(?:steps?|iter(?:ation)?s?|batch(?:es)?)['"]?\s*[:=#]?\s*['"]?(\d+)""", re.IGNORECASE)
_OF = re.compile(r"(?<![\d/.:])(\d+)\s*/\s*(\d+)(?![\d/])")


@dataclass(frozen=True, slots=True)
class Loss:
    """A printed number and its place."""

    rank: str
    """Such as "rank 0, "; empty where the line has none."""
    place: str
    """Such as "epoch 2, step 30, loss": the same text in two runs is the same moment of the training."""
    value: str
    """The number, as printed."""

    is_redrawn: bool = False
    """Whether a bar was drawn over it: the clock decides which steps a bar shows, so the number is not compared."""

    @property
    def is_loss(self) -> bool:
        """Whether it is a loss and not a learning rate."""
        return not self.place.endswith(LEARNING_RATE)


class LossReader:
    """Reads the losses and learning rates from the lines of one run, in their order."""

    def __init__(self) -> None:
        # A line without an epoch belongs to the last epoch that the same rank has named.
        self._epochs: dict[str, str] = {}

    def read(self, line: str) -> Iterator[Loss]:
        """Yield those of the next line; a part of a line that ends with a carriage return counts as one."""
        tag = _RANK.match(line)
        rank = f"rank {tag[1]}, " if tag else ""
        *drawn, last = _REDRAWN.split(_ANSI.sub("", line[tag.end() if tag else 0 :]))
        for piece in drawn:
            yield from self._of(piece, rank, is_redrawn=True)
        yield from self._of(last, rank, is_redrawn=False)

    def _of(self, piece: str, rank: str, *, is_redrawn: bool) -> Iterator[Loss]:
        epoch = _EPOCH.search(piece)
        if epoch:
            self._epochs[rank] = epoch[1]
        values = list(_VALUE.finditer(piece))
        if not values:
            return
        rest = _EPOCH.sub("", piece)
        of = _OF.search(rest if epoch else rest[: values[0].start()])
        step = _STEP.search(rest) or of
        where = [f"epoch {self._epochs[rank]}"] if rank in self._epochs else []
        where += [f"step {step[1]}"] if step else []
        is_redrawn = is_redrawn or (bool(_BAR.search(piece)) and of is not None and of[1] != of[2])
        for found in values:
            shown = found["loss"].lower() if found["loss"] else LEARNING_RATE
            yield Loss(rank, ", ".join([*where, shown]), found["value"], is_redrawn)


def printed_losses(lines: Iterable[str]) -> Iterator[Loss]:
    """Yield the losses and learning rates of the lines of a run."""
    reader = LossReader()
    for line in lines:
        yield from reader.read(line)
