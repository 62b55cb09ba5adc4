"""The command of a worker's sshd: its port, and whether it stays in the foreground.

https://man.openbsd.org/sshd
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from training_workloads.mpijob.launch_command import commands, program_of
from training_workloads.mpijob.programs import RUN_WORKER

__all__ = ["SSHD", "Sshd", "sshd_of", "worker_commands"]

#: Where the images of Debian, Ubuntu, Red Hat and Amazon Linux have it.
SSHD = "/usr/sbin/sshd"

_WITH_VALUE = "bcCEfghkopu"

# In the foreground, or for one connection.
_STAYS = {"D", "d", "i"}

_PORT = re.compile(r"\s*Port[\s=]+(\d+)\s*", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sshd:
    """One `sshd` with its options.

    Attributes:
        path: How the command names it.
        stays: Whether it stays in the foreground: without that it starts a copy of itself, and ends.
        port: The port of its options; None where a file of options has it, or the default of 22 holds.
        has_config: Whether the command gives it a file of options, or host keys.
        ends_after: The option with which it ends after one connection, or a check of its configuration.
        extra: The first word after the options: sshd rejects it, and ends.
    """

    path: str
    stays: bool
    port: int | None
    has_config: bool
    extra: str | None
    ends_after: str | None


def worker_commands(argv: Sequence[str]) -> list[list[str]] | None:
    """Return the commands of a worker without this project's own program in front of them; none for the image's."""
    own = list(argv[: len(RUN_WORKER)]) == list(RUN_WORKER)
    return commands(argv[len(RUN_WORKER) :] if own else argv)


def sshd_of(command: Sequence[str]) -> Sshd | None:
    """Return the sshd that a command starts; None where it starts another program."""
    start = next((n for n, word in enumerate(command) if PurePosixPath(word).name == "sshd"), None)
    if start is None or program_of(command) != "sshd":
        return None
    words = _before_redirection(command[start + 1 :])
    letters, values = _popped_options(words)
    return Sshd(
        path=command[start],
        stays=bool(letters & _STAYS),
        port=_port(values),
        has_config=any(letter in "fh" for letter, _ in values),
        extra=next(iter(words), None),
        ends_after=next((letter for letter in "ditT" if letter in letters), None),
    )


def _popped_options(words: list[str]) -> tuple[set[str], list[tuple[str, str]]]:
    """Take the options from the start of some words; return the letters without a value, and those with theirs."""
    letters: set[str] = set()
    values: list[tuple[str, str]] = []
    while words and words[0].startswith("-") and len(words[0]) > 1:
        word = words.pop(0)
        flags = re.match(rf"-[^{_WITH_VALUE}]*", word)[0][1:]  # type: ignore[index]
        letters |= set(flags)
        if valued := word[1 + len(flags) :]:
            values.append((valued[0], valued[1:] or (words.pop(0) if words else "")))
    return letters, values


def _port(values: Sequence[tuple[str, str]]) -> int | None:
    """Return the first port of the options."""
    ports = [text for letter, text in values if letter == "p"]
    ports += [found[1] for letter, text in values if letter == "o" and (found := _PORT.fullmatch(text))]
    return next((int(text) for text in ports if text.strip().isdecimal() and len(text) < len("100000")), None)


def _before_redirection(words: Sequence[str]) -> list[str]:
    """Return the words before a redirection of the shell, such as `2 >& 1` or `> log`."""
    end = next((n for n, word in enumerate(words) if re.fullmatch(r"\d?[<>&]+.*", word)), len(words))
    is_stream = 0 < end < len(words) and words[end - 1] in ("1", "2")
    return list(words[: end - is_stream])
