"""Launch commands: `mpirun` and `horovodrun` lines, read from any argv or shell script, and changed."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from training_workloads.mpijob.launch_options import EXPORT, HOROVODRUN, MAX_RANKS, MIN_RANKS, RANKS, Option, option_of

__all__ = [
    "HYDRA",
    "LAUNCHERS",
    "SHELLS",
    "Launch",
    "commands",
    "find_launch",
    "launches",
    "program_of",
    "script_of",
    "shell_words",
]

#: The launcher of Intel MPI and MPICH.
HYDRA = "mpiexec.hydra"

#: Programs that start ranks.
LAUNCHERS = {"mpirun", "mpiexec", HYDRA, "orterun", "prterun", HOROVODRUN}

#: Programs that run a script.
SHELLS = {"sh", "bash", "dash", "ash", "zsh"}

# Words that may come before a program and start it.
_WRAPPERS = {"exec", "time", "timeout", "env", "nohup", "sudo", "stdbuf", "nice", "tini", "dumb-init", "command"}
_WRAPPERS |= {"if", "then", "else", "do", "while", "until", "!", "{"}
_BEFORE_A_PROGRAM = re.compile(r"-.*|[A-Za-z_]\w*=.*|\d+(\.\d+)?[smhd]?|.*\.sh")


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """One `mpirun` or `horovodrun` with its options.

    Attributes:
        words: The whole command line from the launcher's name on.
        options: The launcher's own options in order: position in `words`, spelling without dashes, and values.
        end: Position in `words` of the program that each rank runs.
    """

    words: tuple[str, ...]
    options: tuple[tuple[int, str, tuple[str, ...]], ...]
    end: int

    @property
    def launcher(self) -> str:
        """Name of the launcher without its folder."""
        return _base_name(self.words[0])

    @property
    def is_horovod(self) -> bool:
        """Whether it is `horovodrun`."""
        return self.launcher == HOROVODRUN

    @property
    def program(self) -> tuple[str, ...]:
        """The program that each rank runs, with its arguments."""
        return self.words[self.end :]

    @property
    def unknown_options(self) -> tuple[str, ...]:
        """Options that the table does not have, as written: where the program begins is not certain behind one."""
        known = (option_of(name, horovod=self.is_horovod) for _, name, _ in self.options)
        return tuple(self.words[given[0]] for given, option in zip(self.options, known, strict=True) if not option)

    @property
    def expands(self) -> bool:
        """Whether the shell inserts words that are not known here, such as `$MPI_FLAGS`."""
        return "".join(self.program[:1]).startswith("$") or any("$(" in word or "`" in word for word in self.words)

    @property
    def ranks(self) -> int | None:
        """Ranks that the command starts; None where it has no such number."""
        return self.number(RANKS)

    @property
    def min_ranks(self) -> int | None:
        """The fewest ranks of an elastic job; None where the job is not elastic."""
        return self.number(MIN_RANKS)

    @property
    def max_ranks(self) -> int | None:
        """The most ranks of an elastic job; None without a limit."""
        return self.number(MAX_RANKS)

    def has(self, *options: Option | str) -> bool:
        """Return whether one of these options is anywhere after the launcher, also behind an option that is unknown."""
        names = _spellings(options)
        return any(word.startswith("-") and word.lstrip("-").partition("=")[0] in names for word in self.words[1:])

    def has_option(self, *options: Option | str) -> bool:
        """Return whether one of these is an option of the launcher itself."""
        names = _spellings(options)
        return any(name in names for _, name, _ in self.options)

    def value(self, *options: Option | str) -> str | None:
        """Return the first value of an option; None where it is not given."""
        names = _spellings(options)
        return next((values[0] for _, name, values in self.options if name in names and values), None)

    def number(self, option: Option) -> int | None:
        """Return the whole number that an option has; None where it is not given, or is not a number."""
        value = self.value(option) or ""
        return int(value) if re.fullmatch(r"\d{1,9}", value) else None

    @property
    def exported(self) -> dict[str, str | None]:
        """Variables that `-x` gives to the ranks; None for those with the launcher's value."""
        names = EXPORT.spellings
        pairs = [values[0].partition("=") for _, name, values in self.options if name in names and values]
        return {name: value if equals else None for name, equals, value in pairs}

    def with_option(self, option: Option, *values: Any, insert: bool = True) -> "Launch":
        """Return the launch with other values of an option.

        Args:
            option: The option, which the launch may have in any spelling.
            values: Its new values.
            insert: Whether to insert the option first where the launch does not have it.
        """
        given = [(position, old) for position, name, old in self.options if name in option.spellings]
        if not given:
            return _parsed([self.words[0], *option.words(*values), *self.words[1:]]) if insert else self
        words = list(self.words)
        for position, old in reversed(given):
            joined = "=" in words[position]
            written = words[position].partition("=")[0]
            words[position : position + 1 + (0 if joined else len(old))] = [written, *map(str, values)]
        return _parsed(words)


def _spellings(options: Iterable[Option | str]) -> set[str]:
    return {name for one in options for name in (one.spellings if isinstance(one, Option) else (one,))}


def commands(argv: Sequence[str]) -> list[list[str]] | None:
    """Return the commands that an argv starts: those of the script for `sh -c`, else the argv itself.

    Returns:
        None where the script cannot be parsed, or is only the first word of what was meant to be one.
    """
    if (found := script_of(argv)) is None:
        return [list(argv)] if argv else []
    script, behind = found
    return None if behind and len(script.split()) == 1 and "$" not in script else _script(script)


def script_of(argv: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return the script that a shell's `-c` runs and the words behind it; None where the argv has no script."""
    start = next((n for n, word in enumerate(argv) if not _is_before_a_program(word)), len(argv))
    words = list(argv[start:])
    if not words or program_of(words) not in SHELLS:
        return None
    flag = next((n for n, word in enumerate(words) if re.fullmatch(r"-[a-z]*c[a-z]*", word)), None)
    if flag is None:
        return None
    given = words[flag + 1 :]
    given = given[1:] if given[:1] == ["--"] else given
    return (given[0], given[1:]) if given else ("", [])


def launches(argv: Sequence[str]) -> tuple[Launch, ...]:
    """Return every `mpirun` or `horovodrun` that an argv starts, in order; none where a script cannot be parsed.

    Also one that another program starts, such as a check of its output, when it follows that program's `--`.
    """
    return tuple(launch for command in commands(argv) or [] for part in _parts(command) for launch in _launch(part))


def find_launch(argv: Sequence[str]) -> tuple[tuple[str, ...], Launch] | None:
    """Return the first launch in an argv itself, not in a script, and the words before it.

    The words before it start it, such as a program that reads its output. Joined, both are the argv.
    """
    found = (n for n, word in enumerate(argv) if _base_name(word) in LAUNCHERS)
    start = next(found, None)
    return None if start is None else (tuple(argv[:start]), _parsed(argv[start:]))


def _parts(command: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield a command, and what follows each lone `--` in it before the first launcher."""
    yield command
    while "--" in command and program_of(command) not in LAUNCHERS:
        command = command[list(command).index("--") + 1 :]
        yield command


def program_of(words: Sequence[str]) -> str:
    """Return the name of the program that a command starts, without its folder; empty where there is none."""
    programs = (word for word in words if not _is_before_a_program(word))
    return _base_name(next(programs, ""))


def _base_name(path: str) -> str:
    """Return a path without its folder: pathlib takes most of the lint's time for a script of many lines."""
    return path.rstrip("/").rpartition("/")[2]


def _is_before_a_program(word: str) -> bool:
    return _base_name(word) in _WRAPPERS or _BEFORE_A_PROGRAM.fullmatch(word) is not None


# Every rule of the lint asks for the same script.
@lru_cache(maxsize=8)
def shell_words(script: str) -> tuple[str, ...] | None:
    """Return the words of a shell script, with its operators and line ends; None where it cannot be parsed."""
    # A continued line is one line; comments may hold lone quotes.
    script = re.sub(r"\\\n", " ", script)
    script = re.sub(r"(?m)(^|\s)#.*$", r"\1", script)
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|<>\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return tuple(lexer)
    except ValueError:
        return None


def _script(script: str) -> list[list[str]] | None:
    """Return the simple commands of a shell script."""
    if (words := shell_words(script)) is None:
        return None
    found: list[list[str]] = [[]]
    for word in words:
        # An empty word is one in quotes.
        if not word or word.strip(";&|\n"):
            found[-1].append(word)
        else:
            found.append([])
    return [command for command in found if command]


def _launch(words: Sequence[str]) -> Iterator[Launch]:
    start = next((n for n, word in enumerate(words) if not _is_before_a_program(word)), None)
    if start is not None and _base_name(words[start]) in LAUNCHERS:
        yield _parsed(words[start:])


def _parsed(words: Sequence[str]) -> Launch:
    """Return the launch of a command line that begins with a launcher."""
    horovod = _base_name(words[0]) == HOROVODRUN
    options, position = [], 1
    while position < len(words) and words[position].startswith("-"):
        name, equals, value = words[position].lstrip("-").partition("=")
        option = option_of(name, horovod=horovod)
        # Most options of horovodrun have a value, most of mpirun have none.
        count = 0 if equals else option.values if option else int(horovod)
        values = (value,) if equals else tuple(words[position + 1 : position + 1 + count])
        options.append((position, name, values))
        position += 1 + count
    return Launch(words=tuple(words), options=tuple(options), end=position)
