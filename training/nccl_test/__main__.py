"""Run one of NVIDIA's nccl-tests and check it: the bus bandwidth, the values, and whether EFA carried them.

python -m training.nccl_test --collective all_reduce --efa-interfaces 4 --minimum-bus-bandwidth 62.4 \
    -- mpirun -np 16 all_reduce_perf -b 8 -e 2G -f 2

The exit code is 0 if the test passed and 1 if it failed, the command's code if that failed, and 2 for an input error.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.nccl_test.nccl_log import Log, Row
from training.pods.first_process import SIGNAL_CODES, STOP_SIGNALS
from training.pods.nccl_lines import Network
from training.runtime import command_line, files, options
from training.runtime.command_line import path, positive_number, whole_number
from training.runtime.errors import UserError
from training.runtime.options import option

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line, an option a field."""

    collective: str = option(COLLECTIVES, "the operation that the command measures")
    efa_interfaces: int = option(whole_number(0), "of a node; 0: the network must not be EFA")
    nodes: int | None = option(whole_number(1), "nodes that must take part; default: any number", default=None)
    minimum_bus_bandwidth: float | None = option(
        positive_number,
        "the test fails below this out-of-place bandwidth; default: no comparison",
        default=None,
        metavar="GB_PER_SECOND",
    )
    message_gib: float | None = option(
        positive_number, "message size to compare; default: the largest measured", default=None
    )
    published: str | None = option(str, "source of the minimum, for the verdict", default=None)
    output_dir: Path | None = option(path, "folder for results.json; default: none is written", default=None)
    command: tuple[str, ...] = option(tuple, "-- mpirun … all_reduce_perf …", rest=True)

    def __post_init__(self) -> None:
        """Reject a command that runs another program."""
        _check_command(self.command, f"{self.collective}_perf")


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line."""
    return options.parse(Settings, "training.nccl_test", __doc__, arguments)


def _check_command(command: Sequence[str], program: str) -> None:
    if not command:
        raise UserError(f"there is no command; give it after '--', as in: -- mpirun -np 16 {program} -b 8 -e 2G -f 2")
    if not any(Path(word).name == program for word in command):
        raise UserError(
            f"the command {' '.join(command)!r} does not run {program}; run that, or give another '--collective'"
        )


# ------------------------------------------------------------------------------------------------------------- run


def run_through(command: Sequence[str], log: Log) -> int:
    """Run the command, forward its output unchanged, line by line, and return its exit code."""
    # The kernel drops signals that a container's first process does not handle. Those before the start are kept.
    early = list[int]()
    for number in STOP_SIGNALS:
        signal.signal(number, lambda received, _: early.append(received))
    try:
        # One stream for both keeps the order of the lines.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError as error:
        raise UserError(f"{command[0]!r} cannot be run: {error.strerror}; give a program of the image") from error
    for number in STOP_SIGNALS:
        signal.signal(number, lambda received, _: process.send_signal(received))
    for received in early:
        process.send_signal(received)
    assert process.stdout is not None
    with process, process.stdout as lines:
        for line in lines:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            log.read(line.decode(errors="replace"))
    return process.returncode if process.returncode >= 0 else SIGNAL_CODES - process.returncode


# ------------------------------------------------------------------------------------------------------------ check


def compared_row(settings: Settings, log: Log) -> Row | None:
    """Return the row whose bandwidth is compared."""
    size = settings.message_gib and round(settings.message_gib * 2**30)
    rows = [row for row in log.rows if not size or row.size == size]
    return max(rows, key=lambda row: row.size, default=None)


def failures(settings: Settings, log: Log, code: int) -> Iterator[str]:
    """Yield every reason for which the test fails."""
    if code:
        yield f"the command ended with exit code {code}"
    yield from _failures_of_values(settings, log)
    yield from _failures_of_network(settings, log)


def _failures_of_values(settings: Settings, log: Log) -> Iterator[str]:
    row = compared_row(settings, log)
    if not log.rows:
        yield "the output has no table of bandwidths"
    elif row is None:
        sizes = f"{_size(log.rows[0].size)} to {_size(max(row.size for row in log.rows))}"
        yield f"no message of {settings.message_gib:g} GiB was measured, only {sizes}; give -e that size"
    elif settings.minimum_bus_bandwidth and row.out_of_place < settings.minimum_bus_bandwidth:
        yield f"{row.out_of_place:g} GB/s is below the minimum of {settings.minimum_bus_bandwidth:g} GB/s"
    for wrong_row in (row for row in log.rows if row.wrong):
        yield f"{wrong_row.wrong} values were wrong at {_size(wrong_row.size)}"
    if log.out_of_bounds:
        yield f"{log.out_of_bounds} values were out of bounds"


def _failures_of_network(settings: Settings, log: Log) -> Iterator[str]:
    if settings.nodes and len(log.nodes) != settings.nodes:
        yield f"{len(log.nodes)} nodes took part, not {settings.nodes}"
    if settings.efa_interfaces and not log.nodes:
        yield "EFA is not proven: the output has no line of NCCL; set NCCL_DEBUG=INFO for every rank"
    for node in log.nodes:
        network = log.networks.get(node, Network())
        if settings.efa_interfaces and not network.is_efa:
            yield f"EFA is not proven on {node}: its network is {network}"
        elif not settings.efa_interfaces and network.is_efa:
            yield f"{node} used {network}, but '--efa-interfaces' is 0"
        elif network.is_efa and network.interfaces is not None and network.interfaces < settings.efa_interfaces:
            yield f"{node} found {network.interfaces} EFA interfaces of {settings.efa_interfaces}"


# ------------------------------------------------------------------------------------------------------------- print


def sentences(settings: Settings, log: Log, reasons: Sequence[str]) -> Iterator[str]:
    """Yield the verdict as sentences."""
    row = compared_row(settings, log)
    where = f"{len(log.ranks)} ranks on {len(log.nodes)} nodes"
    if row:
        yield (
            f"{settings.collective}: bus bandwidth {row.out_of_place:g} GB/s out-of-place (the compared one), "
            f"{row.in_place:g} GB/s in-place, at {_size(row.size)}, over {where}"
        )
    for node in log.nodes:
        yield f"network of {node}: {log.networks.get(node, 'unknown')}"
    if settings.minimum_bus_bandwidth:
        source = f"; published: {settings.published}" if settings.published else ""
        yield f"minimum: {settings.minimum_bus_bandwidth:g} GB/s{source}"
    else:
        yield "minimum: none is given, so the bandwidth is not compared"
    yield from (f"FAIL: {reason}" for reason in reasons) if reasons else ["PASS"]


def _size(size: int) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} bytes"


def results(settings: Settings, log: Log, reasons: Sequence[str]) -> dict[str, Any]:
    """Return the verdict for results.json: bandwidths in GB/s, sizes in bytes."""
    row = compared_row(settings, log)
    return {
        "collective": settings.collective,
        "passed": not reasons,
        "failures": list(reasons),
        "bus_bandwidth": row and row.out_of_place,
        "message_bytes": row and row.size,
        "minimum_bus_bandwidth": settings.minimum_bus_bandwidth,
        "published": settings.published,
        "ranks": len(log.ranks),
        "networks": {node: str(log.networks.get(node, "unknown")) for node in log.nodes},
        "sizes": [
            {"bytes": row.size, "out_of_place": row.out_of_place, "in_place": row.in_place, "wrong": row.wrong}
            for row in log.rows
        ],
    }


def brief(content: dict[str, Any]) -> dict[str, Any]:
    """Return the results that the report of `trainctl bench` shows: the verdict, and GB/s by the bytes of a message."""
    names = ("passed", "bus_bandwidth")
    return {name: content[name] for name in names} | {
        "bandwidths": {each["bytes"]: each["out_of_place"] for each in content["sizes"]}
    }


def run(settings: Settings) -> int:
    """Run the test, print its verdict, and return the exit code."""
    if settings.output_dir:
        files.make_writable(settings.output_dir)
    log = Log()
    code = run_through(settings.command, log)
    reasons = list(failures(settings, log, code))
    print(files.results_line(brief(results(settings, log, reasons))), flush=True)
    for sentence in sentences(settings, log, reasons):
        print(sentence, flush=True)
    if settings.output_dir:
        files.write_json(settings.output_dir / "results.json", results(settings, log, reasons))
    return code or int(bool(reasons))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    return command_line.exit_code(lambda: run(parse(arguments)))


if __name__ == "__main__":
    sys.exit(main())
