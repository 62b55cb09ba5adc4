"""The options of `mpirun` and `horovodrun`: each with its spellings and its number of values, once.

Open MPI 4: https://github.com/open-mpi/ompi/blob/v4.1.x/orte/mca/schizo/ompi/schizo_ompi.c; Open MPI 5: `man prterun`;
Hydra (MPICH, Intel MPI): `mpiexec -help`; Horovod 0.28.1:
https://github.com/horovod/horovod/blob/v0.28.1/horovod/runner/launch.py
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

__all__ = [
    "BIND_TO",
    "BLACKLIST_COOLDOWN",
    "CONFIG_FILE",
    "DISCOVERY_SCRIPT_OPTION",
    "ELASTIC_TIMEOUT",
    "EXPORT",
    "GLOO_TIMEOUT",
    "HOROVODRUN",
    "HOSTFILE_OPTION",
    "HOSTS",
    "MAP_BY",
    "MAX_RANKS",
    "MCA",
    "MIN_RANKS",
    "NETWORK_INTERFACE",
    "ONE_RANK_PER_NODE",
    "RANKS",
    "RANKS_PER_HOST",
    "RANKS_PER_NODE",
    "RANK_BY",
    "SLOTS_PER_HOST",
    "TAG_OUTPUT",
    "Option",
    "is_option_of_hydra",
    "option_of",
    "options_like",
]

#: Horovod's own launcher, whose options differ from those of MPI's.
HOROVODRUN = "horovodrun"

# A spelling of three letters or fewer is close to several options: `-n`, `-np`, `-H`.
_SHORT = 3


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a launcher.

    Attributes:
        written: How a command of this project spells it, with its dashes.
        aliases: Its other spellings, without dashes. Open MPI accepts each with one dash and with two.
        values: How many words follow it.
    """

    written: str
    aliases: tuple[str, ...] = ()
    values: int = 1

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every spelling, without dashes."""
        return (self.written.lstrip("-"), *self.aliases)

    def words(self, *values: Any) -> list[str]:
        """Return the option as words of a command."""
        return [self.written, *map(str, values)]


#: How many ranks the job has.
RANKS = Option("-np", ("n", "c", "num-proc"))
RANKS_PER_NODE = Option("-N", ("npernode", "npersocket", "ppr"))
ONE_RANK_PER_NODE = Option("--pernode", values=0)

#: The same, of Hydra.
RANKS_PER_HOST = Option("-ppn", ("perhost",))

#: Elastic Horovod: how many ranks the job needs and can use.
MIN_RANKS = Option("--min-np", ("min-num-proc",))
MAX_RANKS = Option("--max-np", ("max-num-proc",))

#: Where the hosts are listed.
HOSTFILE_OPTION = Option("--hostfile", ("machinefile", "default-hostfile"))
HOSTS = Option("--host", ("H", "hosts"))
DISCOVERY_SCRIPT_OPTION = Option("--host-discovery-script")
SLOTS_PER_HOST = Option("--slots-per-host", ("slots",))

#: A file that may hold every option of `horovodrun`.
CONFIG_FILE = Option("--config-file")

#: Which host and which cores a rank gets.
MAP_BY = Option("--map-by")
RANK_BY = Option("--rank-by")
BIND_TO = Option("--bind-to")

#: Begins each line of output with its rank.
TAG_OUTPUT = Option("--tag-output", values=0)

#: Gives a variable of the launcher to the ranks.
EXPORT = Option("-x")
MCA = Option("--mca", ("gmca", "omca", "prtemca", "pmixmca", "gpmixmca"), values=2)

NETWORK_INTERFACE = Option("--network-interface", ("network-interfaces",))
ELASTIC_TIMEOUT = Option("--elastic-timeout")
GLOO_TIMEOUT = Option("--gloo-timeout-seconds")
BLACKLIST_COOLDOWN = Option("--blacklist-cooldown-range", values=2)


def _others(names: str, values: int) -> list[Option]:
    return [Option(f"--{name}", values=values) for name in names.split()]


_MPIRUN = (
    *(RANKS, RANKS_PER_NODE, ONE_RANK_PER_NODE, HOSTFILE_OPTION, HOSTS, MAP_BY, RANK_BY, BIND_TO, TAG_OUTPUT, EXPORT),
    MCA,
    *_others(
        """f output-filename output display wdir wd prefix path timeout stdin tune am report-uri add-host add-hostfile
        rankfile rf cpus-per-proc cpus-per-rank cpu-set cpu-list slot-list runtime-options personality max-restarts
        launch-agent xterm report-pid unset-env forward-signals hnp dvm-uri xml-file preload-files app max-vm-size
        ompi-server cf cartofile debugger report-events with-ft stream-buffering pmixmca-file""",
        values=1,
    ),
    *_others(
        """allow-run-as-root oversubscribe nooversubscribe use-hwthread-cpus report-bindings display-map
        display-allocation display-devel-map display-devel-allocation display-topo display-diffable-map do-not-launch
        debug-daemons debug-daemons-file debug-devel leave-session-attached nolocal bynode byslot bycore bysocket
        bind-to-core bind-to-socket bind-to-none merge-stderr-to-stdout timestamp-output continuous v q h V d s verbose
        quiet help version report-state-on-timeout get-stack-traces report-child-jobs-separately xml
        index-argv-by-rank preload-binary do-not-resolve set-cwd-to-session-dir tv debug output-proctable noprefix
        show-progress use-regexp enable-recovery disable-recovery novm dvm terminate overload-allowed""",
        values=0,
    ),
)

_HYDRA = (
    RANKS_PER_HOST,
    *_others("genv env", values=2),
    *_others("genvlist envlist iface bootstrap launcher bootstrap-exec launcher-exec rmk", values=1),
    *_others("genvall envall genvnone envnone", values=0),
)

_HOROVODRUN = (
    *(RANKS, MIN_RANKS, MAX_RANKS, HOSTFILE_OPTION, HOSTS, DISCOVERY_SCRIPT_OPTION, SLOTS_PER_HOST, CONFIG_FILE),
    *(NETWORK_INTERFACE, ELASTIC_TIMEOUT, GLOO_TIMEOUT, BLACKLIST_COOLDOWN),
    *_others(
        """start-timeout output-filename p ssh-port i ssh-identity-file fusion-threshold-mb cycle-time-ms
        cache-capacity autotune-log-file autotune-warmup-samples autotune-steps-per-sample
        autotune-bayes-opt-max-samples autotune-gaussian-process-noise reset-limit timeline-filename
        stall-check-warning-time-seconds stall-check-shutdown-time-seconds mpi-args binding-args num-nccl-streams
        thread-affinity log-level""",
        values=1,
    ),
    *_others(
        """v version cb check-build disable-cache verbose hierarchical-allreduce no-hierarchical-allreduce
        hierarchical-allgather no-hierarchical-allgather torus-allreduce no-torus-allreduce autotune no-autotune
        timeline-mark-cycles no-timeline-mark-cycles no-stall-check stall-check mpi-threads-disable
        no-mpi-threads-disable tcp log-with-timestamp log-without-timestamp prefix-timestamp
        prefix-output-with-timestamp log-hide-timestamp no-log-hide-timestamp gloo mpi jsrun h help""",
        values=0,
    ),
)


def _by_spelling(options: Iterable[Option]) -> dict[str, Option]:
    return {spelling: option for option in options for spelling in option.spellings}


_OF_HYDRA = _by_spelling(_HYDRA)
_TABLES = {False: {**_OF_HYDRA, **_by_spelling(_MPIRUN)}, True: _by_spelling(_HOROVODRUN)}


def option_of(spelling: str, *, horovod: bool) -> Option | None:
    """Return the option with a spelling; None where the launcher's table does not have it.

    Args:
        spelling: Without dashes.
        horovod: Whether the launcher is `horovodrun`, and not one of MPI's.
    """
    return _TABLES[horovod].get(spelling)


def is_option_of_hydra(spelling: str) -> bool:
    """Return whether only the launcher of Intel MPI and MPICH has an option with a spelling, without dashes."""
    return spelling in _OF_HYDRA


def options_like(spelling: str, *, horovod: bool) -> list[str]:
    """Return the spellings, without dashes, of a launcher's options that a misspelled one may mean, the closest first.

    Args:
        spelling: Without dashes.
        horovod: Whether the launcher is `horovodrun`, and not one of MPI's.
    """
    names = list(_TABLES[horovod])
    plain = _plain(spelling)
    same = [name for name in names if _plain(name) == plain]
    # Short names are close to each other by chance.
    return same or (get_close_matches(spelling, names, n=1, cutoff=0.8) if len(spelling) > _SHORT else [])


def _plain(spelling: str) -> str:
    return re.sub(r"[-_]", "", spelling).lower()
