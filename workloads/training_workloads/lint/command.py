"""What a container starts: the commands of its argv or shell script, and in them each `mpirun` or `horovodrun`."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

__all__ = ["HOROVODRUN", "LAUNCHERS", "Launch", "commands", "launches", "program_of"]

#: Horovod's own launcher, whose options differ from those of MPI's.
HOROVODRUN = "horovodrun"

#: Programs that start ranks.
LAUNCHERS = {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", HOROVODRUN}
_SHELLS = {"sh", "bash", "dash", "ash", "zsh"}

# What may stand before a program and starts it.
_WRAPPERS = {"exec", "time", "timeout", "env", "nohup", "sudo", "stdbuf", "nice", "tini", "dumb-init", "command"}
_WRAPPERS |= {"if", "then", "else", "do", "while", "until", "!", "{"}
_BEFORE_A_PROGRAM = re.compile(r"-.*|[A-Za-z_]\w*=.*|\d+(\.\d+)?[smhd]?|.*\.sh")

# Options of mpirun (Open MPI 4 and 5: `mpirun --help`, `man prterun`; Hydra: `mpiexec -help`) with one or two values of
# their own; every other has none.
_MPI_VALUES = dict.fromkeys(
    """np n c N npernode npersocket ppr H host hosts hostfile machinefile default-hostfile f x bind-to map-by rank-by
    output-filename output display wdir wd prefix path timeout stdin tune am report-uri add-host add-hostfile rankfile
    rf cpus-per-proc cpus-per-rank cpu-set cpu-list runtime-options personality max-restarts launch-agent xterm ppn
    perhost genvlist envlist iface bootstrap launcher bootstrap-exec launcher-exec rmk report-pid unset-env""".split(),
    1,
) | dict.fromkeys("mca gmca omca prtemca pmixmca gpmixmca genv env".split(), 2)

# Options of horovodrun 0.28.1 (horovod/runner/launch.py) without a value, or with two; every other has one.
_HOROVOD_VALUES = dict.fromkeys(
    """v version cb check-build disable-cache verbose hierarchical-allreduce no-hierarchical-allreduce
    hierarchical-allgather no-hierarchical-allgather torus-allreduce no-torus-allreduce autotune no-autotune
    timeline-mark-cycles no-timeline-mark-cycles no-stall-check stall-check mpi-threads-disable no-mpi-threads-disable
    tcp log-with-timestamp log-without-timestamp prefix-timestamp prefix-output-with-timestamp log-hide-timestamp
    no-log-hide-timestamp gloo mpi jsrun""".split(),
    0,
) | {"blacklist-cooldown-range": 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """One `mpirun` or `horovodrun` with its options.

    Attributes:
        program: Name of the launcher without its folder.
        options: Each option in order, without its dashes, and its values.
        started: What follows the options: the program that each rank runs.
        words: Everything after the launcher's name, the program that it starts included.
    """

    program: str
    options: tuple[tuple[str, tuple[str, ...]], ...]
    started: str
    words: tuple[str, ...]

    @property
    def is_horovod(self) -> bool:
        """Whether it is `horovodrun`."""
        return self.program == HOROVODRUN

    @property
    def expands(self) -> bool:
        """Whether the shell puts words in that cannot be seen here, such as `$MPI_FLAGS`."""
        return self.started.startswith("$") or any("$(" in word or "`" in word for word in self.words)

    def has(self, *names: str) -> bool:
        """Whether one of these options stands anywhere after the launcher, also where its values are not understood."""
        return any(word.startswith("-") and word.lstrip("-").partition("=")[0] in names for word in self.words)

    def has_option(self, *names: str) -> bool:
        """Whether one of these is an option of the launcher itself."""
        return any(name in names for name, _ in self.options)

    def number(self, *names: str) -> int | None:
        """The whole number that an option has; None where it is not given, or is no number."""
        given = [values[0] for name, values in self.options if name in names and values]
        return int(given[0]) if given and re.fullmatch(r"\d{1,9}", given[0]) else None

    def value(self, *names: str) -> str | None:
        """The first value of an option; None where it is not given."""
        return next((values[0] for name, values in self.options if name in names and values), None)

    @property
    def exported(self) -> dict[str, str | None]:
        """Variables that `-x` hands to the ranks; None for those that have the launcher's value."""
        pairs = [values[0].partition("=") for name, values in self.options if name == "x" and values]
        return {name: value if equals else None for name, equals, value in pairs}


def commands(argv: Sequence[str]) -> list[list[str]] | None:
    """The commands that an argv starts: those of the script for `sh -c`, else the argv itself.

    Returns:
        None where a script is not understood.
    """
    start = next((n for n, word in enumerate(argv) if not _is_before_a_program(word)), len(argv))
    words = list(argv[start:])
    if not words or program_of(words) not in _SHELLS:
        return [list(argv)] if argv else []
    flag = next((n for n, word in enumerate(words) if re.fullmatch(r"-[a-z]*c[a-z]*", word)), None)
    if flag is None:
        return [words]
    return _script(next((word for word in words[flag + 1 :] if word != "--"), ""))


def launches(argv: Sequence[str]) -> tuple[Launch, ...]:
    """Every `mpirun` or `horovodrun` that an argv starts, in order; none where a script is not understood.

    Also one that another program starts, such as a judge of its output, when it stands behind that program's `--`.
    """
    return tuple(launch for command in commands(argv) or [] for part in _parts(command) for launch in _launch(part))


def _parts(command: Sequence[str]) -> Iterator[Sequence[str]]:
    """A command, and what follows each lone `--` in it before the first launcher."""
    yield command
    while "--" in command and program_of(command) not in LAUNCHERS:
        command = command[list(command).index("--") + 1 :]
        yield command


def program_of(words: Sequence[str]) -> str:
    """Name of the program that a command starts, without its folder; empty where there is none."""
    programs = (word for word in words if not _is_before_a_program(word))
    return PurePosixPath(next(programs, "")).name


def _is_before_a_program(word: str) -> bool:
    return PurePosixPath(word).name in _WRAPPERS or _BEFORE_A_PROGRAM.fullmatch(word) is not None


def _script(script: str) -> list[list[str]] | None:
    """Splits a shell script into simple commands."""
    # A continued line is one line; comments may hold lone quotes.
    script = re.sub(r"\\\n", " ", script)
    script = re.sub(r"(?m)(^|\s)#.*$", r"\1", script)
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|<>\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return None
    found: list[list[str]] = [[]]
    for word in words:
        if word.strip(";&|\n"):
            found[-1].append(word)
        else:
            found.append([])
    return [command for command in found if command]


def _launch(words: Sequence[str]) -> Iterator[Launch]:
    start = next((n for n, word in enumerate(words) if not _is_before_a_program(word)), None)
    if start is None or (program := PurePosixPath(words[start]).name) not in LAUNCHERS:
        return
    rest = tuple(words[start + 1 :])
    counts, default = (_HOROVOD_VALUES, 1) if program == HOROVODRUN else (_MPI_VALUES, 0)
    options, position = [], 0
    while position < len(rest) and rest[position].startswith("-"):
        name, equals, value = rest[position].lstrip("-").partition("=")
        count = 0 if equals else counts.get(name, default)
        options.append((name, (value,) if equals else rest[position + 1 : position + 1 + count]))
        position += 1 + count
    started = "".join(rest[position : position + 1])
    yield Launch(program=program, options=tuple(options), started=started, words=rest)
