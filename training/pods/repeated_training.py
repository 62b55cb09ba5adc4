"""Whether ranks that restart resume or begin again, as far as their output shows it.

A script that writes no checkpoint trains again what its start before has trained, and nothing fails. Two starts that
print the same first epochs or steps show that. A start resumes where its first ones are others, or where it prints
words such as "resuming after step 270" that the start before did not print.

A doubt counts for the program. Steps may be counted from each start, so within one epoch they decide nothing.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

#: How the line begins that says that training is repeated; `trainctl status` looks for it in the launcher's log.
BEGAN_AGAIN = "started again without a checkpoint"

_HELP = "docs/exact-resume.md shows how a script resumes"

# A shorter start has hardly imported its packages.
_LEAST_SECONDS = 60.0

# A start that shows nothing for so long has begun to train.
_UNKNOWN_SECONDS = 600.0

# Equal places of two starts that make a coincidence unlikely; the start before must have trained beyond them.
_EQUAL = 2

# No line of progress is longer; more without a line break is not kept.
_LONGEST = 4096
_MOST_WORDS = 20

_EPOCH = re.compile(r"(?<![\w-])epoch\b['\"]?[\s:=#\[(]*['\"]?(\d+(?:\.\d+)?)", re.IGNORECASE)
_STEP = re.compile(
    r"(?<![\w-])(?:(?:global_|train_)?step|iter(?:ation)?|batch)\b['\"]?[\s:=#\[(]*['\"]?(\d+)", re.IGNORECASE
)
# A line with a step and without a loss may be one about the settings, such as "batch: 32 images".
_LOSS = re.compile(r"loss|perplexity|accuracy", re.IGNORECASE)

_RESUMES = re.compile(
    r"\b(?:resum(?:e|es|ed|ing)|restor(?:e|es|ed|ing)|continu(?:e|es|ed|ing) (?:training )?(?:from|at|after))\b"
    r"|\b(?:load|read)(?:s|ed|ing)?\b.*(?:checkpoint|snapshot|ckpt)"
    r"|(?:checkpoint|snapshot|ckpt)\b.*\b(?:load|read)(?:ed|ing)?\b"
    r"|\bstart(?:s|ed|ing)? (?:from|at) (?:epoch|step|iteration) [1-9]",
    re.IGNORECASE,
)
_DOES_NOT = re.compile(
    r"\b(?:no|not|none|nothing|without|cannot|scratch|random|false|shards|pretrained)\b|n't\b|resume\w*=(?:''|\"\")",
    re.IGNORECASE,
)

_Place = tuple[float | None, int | None]


@dataclass(slots=True)
class _Start:
    """A start of the ranks.

    Attributes:
        began: When it began.
        seconds: How long it ran, as soon as another one began.
        places: Its first epochs and steps, each once.
        epochs: Its first epochs.
        words: The lines in which it says that it resumes.
    """

    began: float
    seconds: float = 0.0
    places: list[_Place] = field(default_factory=list)
    epochs: list[float] = field(default_factory=list)
    words: set[str] = field(default_factory=set)

    @property
    def has_progress(self) -> bool:
        """Whether it has trained beyond the places that are compared, and beyond its first epoch if it names any."""
        return len(self.places) > _EQUAL and len(self.epochs) != 1

    def read(self, line: str) -> None:
        """Take the place and the words of a line."""
        if len(self.words) < _MOST_WORDS and _RESUMES.search(line) and not _DOES_NOT.search(line):
            self.words.add(line.strip())
        epoch = _EPOCH.search(line)
        step = _STEP.search(_EPOCH.sub("", line)) if _LOSS.search(line) else None
        if not (epoch or step):
            return
        number = float(epoch[1]) if epoch else None
        if number is not None and len(self.epochs) < _EQUAL and number not in self.epochs:
            self.epochs.append(number)
        place = (number, int(step[1]) if step else None)
        if place not in self.places and len(self.places) <= _EQUAL:
            self.places.append(place)


class Starts:
    """The starts of a job's ranks, of which the last two are compared."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Know no start."""
        self._clock = clock
        self._before: _Start | None = None
        self._now: _Start | None = None
        self._rests: dict[int, bytes] = {}
        self._is_decided = self._has_doubted = False

    def begin(self) -> None:
        """Begin a new start: what is read from now on is its output."""
        if self._now:
            self._now.seconds = self._clock() - self._now.began
            # One that failed at once repeats nothing, and the one before it counts.
            if self._now.places or self._now.seconds >= _LEAST_SECONDS:
                self._before = self._now
        self._now, self._rests, self._is_decided = _Start(self._clock()), {}, False

    def read(self, part: bytes, stream: int) -> None:
        """Read a part of one of the two streams."""
        if self._now is None or (self._now.has_progress and self._is_decided):
            return
        lines, _, rest = (self._rests.get(stream, b"") + part).replace(b"\r", b"\n").rpartition(b"\n")
        self._rests[stream] = rest[-_LONGEST:]
        for line in lines.split(b"\n"):
            self._now.read(line[:_LONGEST].decode(errors="replace"))

    def line(self) -> str | None:
        """Return the line to print, once; None without news."""
        before, now = self._before, self._now
        if before is None or now is None or before.seconds < _LEAST_SECONDS or self._is_decided:
            return None
        if now.words - before.words:
            self._is_decided = True
            return None
        if len(now.places) >= _EQUAL and before.has_progress:
            self._is_decided = True
            if now.places[:_EQUAL] == before.places[:_EQUAL]:
                where = f"at {_words(now.places[0])} as the start before"
                return f"{BEGAN_AGAIN}, {where}; {_duration(before.seconds)} are repeated: {_HELP}"
            return None
        if not (self._has_doubted or now.words) and self._clock() - now.began >= _UNKNOWN_SECONDS:
            self._has_doubted = True
            unknown = "the output does not show whether the program resumes or begins again"
            return f"started again after {_duration(before.seconds)}; {unknown}: {_HELP}"
        return None


def _words(place: _Place) -> str:
    epoch, step = place
    return ", ".join(
        [*([f"epoch {epoch:g}"] if epoch is not None else []), *([f"step {step}"] if step is not None else [])]
    )


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
