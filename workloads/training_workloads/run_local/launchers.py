"""The programs that start ranks, and what each is told on this machine instead of what the instance type decided."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from training_workloads.validation import InputError

__all__ = ["LAUNCHERS", "Launcher", "Setting", "find_launcher"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """An option with the value that it has here.

    Attributes:
        names: Its spellings; the first is written where the command has none.
        value: The value, in which `{ranks}` and `{discovery}` stand for those of the run. Default: the option has none.
        added: Whether it is added where the command does not have it.
    """

    names: tuple[str, ...]
    value: str | None = None
    added: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Launcher:
    """A program that starts ranks.

    Attributes:
        name: The program.
        ranks: Spellings of the option with the number of ranks.
        settings: What is replaced or added.
        other_options: How many values each further option takes, to tell where the ranks' own program begins.
    """

    name: str
    ranks: tuple[str, ...]
    settings: tuple[Setting, ...]
    other_options: dict[str, int]

    def ranks_of(self, command: list[str]) -> int:
        """The number of ranks that a command starts.

        Raises:
            InputError: The command does not say it.
        """
        position = _position(command, self.ranks)
        if position is None or not command[position + 1 : position + 2] or not command[position + 1].isdigit():
            raise InputError(
                f"the launcher's command is {' '.join(command)!r}; a local run needs '{self.name} {self.ranks[0]} "
                f"<ranks> …'"
            )
        return int(command[position + 1])

    def localized(self, command: list[str], *, ranks: int, discovery: Path) -> list[str]:
        """The command with the settings of this machine.

        Args:
            command: The launcher's argv.
            ranks: How many ranks it shall start.
            discovery: Script that prints the hosts of an elastic job.
        """
        local = list(command)
        for setting in (Setting(names=self.ranks, value="{ranks}"), *self.settings):
            values = [] if setting.value is None else [setting.value.format(ranks=ranks, discovery=discovery)]
            position = _position(local, setting.names)
            if position is not None:
                local[position + 1 : position + 1 + len(values)] = values
            elif setting.added:
                local[1:1] = [setting.names[0], *values]
        return local

    def program_of(self, command: list[str]) -> str | None:
        """What each rank runs; None where an option is not known, so that nobody can tell."""
        arity = {name: 0 if setting.value is None else 1 for setting in self.settings for name in setting.names}
        arity |= dict.fromkeys(self.ranks, 1) | self.other_options
        position = 1
        while position < len(command):
            word = command[position]
            if not word.startswith("-"):
                return word
            if word not in arity:
                return None
            position += 1 + arity[word]
        return None


# Where a rank may run is decided by this machine: its cores are shared by all ranks, however many there are.
_MPIRUN = Launcher(
    name="mpirun",
    ranks=("-np", "-n", "--np"),
    settings=(
        Setting(names=("--map-by", "-map-by"), value="slot", added=True),
        Setting(names=("--bind-to", "-bind-to"), value="none", added=True),
        # Each line begins with its rank. Open MPI 4 and 5 both take this spelling without a warning.
        Setting(names=("--tag-output", "-tag-output"), added=True),
    ),
    other_options={
        **dict.fromkeys(("--hostfile", "-hostfile", "--host", "-host", "-H", "-x", "-N", "--rank-by", "--wdir"), 1),
        **dict.fromkeys(("--mca", "-mca", "--prtemca", "--pmixmca"), 2),
        **dict.fromkeys(("--allow-run-as-root", "--oversubscribe", "--report-bindings", "--display-map"), 0),
    },
)

# https://github.com/horovod/horovod/blob/v0.28.1/horovod/runner/launch.py
_HOROVODRUN = Launcher(
    name="horovodrun",
    ranks=("-np", "--num-proc"),
    settings=(
        Setting(names=("--min-np", "--min-num-proc"), value="{ranks}"),
        Setting(names=("--max-np", "--max-num-proc"), value="{ranks}"),
        Setting(names=("--slots-per-host",), value="{ranks}"),
        Setting(names=("--host-discovery-script",), value="{discovery}"),
        # Without it an elastic job waits for a second host, to find out which interface the two have in common.
        Setting(names=("--network-interface", "--network-interfaces"), value="lo", added=True),
    ),
    other_options={
        **dict.fromkeys(("-H", "--hosts", "-hostfile", "--hostfile", "-p", "--ssh-port"), 1),
        **dict.fromkeys(
            ("--elastic-timeout", "--gloo-timeout-seconds", "--reset-limit", "--start-timeout", "--log-level"), 1
        ),
        **dict.fromkeys(("--gloo", "--mpi", "--verbose", "--log-with-timestamp", "--log-without-timestamp"), 0),
        "--blacklist-cooldown-range": 2,
    },
)

#: The launchers that a manifest may use, by their program.
LAUNCHERS = {launcher.name: launcher for launcher in (_MPIRUN, _HOROVODRUN)}


def find_launcher(command: list[str]) -> tuple[int, Launcher]:
    """Where in a command its launcher stands, and which it is; what stands before it, such as a judge, starts it.

    Args:
        command: The argv of the launcher's container.

    Raises:
        InputError: There is none that can run here.
    """
    for position, word in enumerate(command):
        if launcher := LAUNCHERS.get(PurePosixPath(word).name):
            return position, launcher
    known = " or ".join(f"'{known.name} {known.ranks[0]} <ranks> …'" for known in LAUNCHERS.values())
    raise InputError(f"the launcher's command is {' '.join(command) or 'empty'!r}; a local run needs {known}")


def _position(command: list[str], names: tuple[str, ...]) -> int | None:
    return next((position for position, word in enumerate(command) if word in names), None)
