"""Runs one of NVIDIA's nccl-tests and judges it: the bus bandwidth, the values, and whether EFA carried them.

python -m training.nccl_test --collective all_reduce --efa-interfaces 4 --minimum-bus-bandwidth 62.4 \
    -- mpirun -np 16 all_reduce_perf -b 8 -e 2G -f 2

Exits with 0 where all is as asked, with 1 where it is not, with the command's code where that failed, and with 2 for a
mistake in the options.
"""

import argparse
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from training.nccl_test.nccl_log import Log, Row
from training.runtime import command_line, files
from training.runtime.errors import UserError

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter")


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line; what stands after '--' becomes `command`."""
    parser = command_line.Parser(prog="python -m training.nccl_test", description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--collective", choices=COLLECTIVES, required=True, help="the operation that the command measures")
    add(
        "--efa-interfaces",
        type=command_line.whole_number(0),
        required=True,
        help="a node's; 0: the network must not be EFA",
    )
    add("--nodes", type=command_line.whole_number(1), help="nodes that must take part; default: any number")
    add(
        "--minimum-bus-bandwidth",
        type=command_line.positive_number,
        metavar="GB_PER_SECOND",
        help="below this, out-of-place, the test fails; default: nothing is compared",
    )
    add(
        "--message-gib",
        type=command_line.positive_number,
        help="message size to compare at; default: the largest measured",
    )
    add("--published", help="where the minimum comes from, for the verdict")
    add("--output-dir", type=Path, help="folder for results.json; default: none is written")
    add("command", nargs=argparse.REMAINDER, help="-- mpirun … all_reduce_perf …")
    given = parser.parse_args(arguments)
    given.command = given.command[1:] if given.command[:1] == ["--"] else given.command
    _check_command(given.command, f"{given.collective}_perf")
    return given


def _check_command(command: Sequence[str], program: str) -> None:
    if not command:
        raise UserError(f"there is no command; give it after '--', as in: -- mpirun -np 16 {program} -b 8 -e 2G -f 2")
    if not any(Path(word).name == program for word in command):
        raise UserError(
            f"the command {' '.join(command)!r} does not run {program}; give that, or another '--collective'"
        )


# ------------------------------------------------------------------------------------------------------------- run


def run_through(command: Sequence[str], log: Log) -> int:
    """Runs the command, hands its output on unchanged, line by line, and returns its exit code."""
    try:
        # One stream for both, so that the lines keep their order.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError as error:
        raise UserError(
            f"{command[0]!r} cannot be run: {error.strerror}; give a program that is in the image"
        ) from error
    # As the first process of a container this one would not end by itself.
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    signal.signal(signal.SIGINT, lambda *_: process.send_signal(signal.SIGINT))
    with process, process.stdout as lines:
        for line in lines:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            log.read(line.decode(errors="replace"))
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


# ------------------------------------------------------------------------------------------------------------ judge


def compared_row(given: argparse.Namespace, log: Log) -> Row | None:
    """The row whose bandwidth counts."""
    size = given.message_gib and round(given.message_gib * 2**30)
    rows = [row for row in log.rows if not size or row.size == size]
    return max(rows, key=lambda row: row.size, default=None)


def failures(given: argparse.Namespace, log: Log, code: int) -> Iterator[str]:
    """Every reason for which the test fails."""
    if code:
        yield f"the command ended with exit code {code}"
    yield from _failures_of_values(given, log)
    yield from _failures_of_network(given, log)


def _failures_of_values(given: argparse.Namespace, log: Log) -> Iterator[str]:
    row = compared_row(given, log)
    if not log.rows:
        yield "the output has no table of bandwidths"
    elif row is None:
        sizes = f"{_size(log.rows[0].size)} to {_size(max(row.size for row in log.rows))}"
        yield f"no message of {given.message_gib:g} GiB was measured, only {sizes}; give the command that size with -e"
    elif given.minimum_bus_bandwidth and row.out_of_place < given.minimum_bus_bandwidth:
        yield f"{row.out_of_place:g} GB/s is below the minimum of {given.minimum_bus_bandwidth:g} GB/s"
    for wrong_row in (row for row in log.rows if row.wrong):
        yield f"{wrong_row.wrong} values were wrong at {_size(wrong_row.size)}"
    if log.out_of_bounds:
        yield f"{log.out_of_bounds} values were out of bounds"


def _failures_of_network(given: argparse.Namespace, log: Log) -> Iterator[str]:
    if given.nodes and len(log.nodes) != given.nodes:
        yield f"{len(log.nodes)} nodes took part, not {given.nodes}"
    if given.efa_interfaces and not log.nodes:
        yield "EFA is not proven: the output has no line of NCCL's; set NCCL_DEBUG=INFO for every rank"
    for node in log.nodes:
        network = log.networks.get(node)
        is_efa = network is not None and network.is_efa
        if given.efa_interfaces and not is_efa:
            yield f"EFA is not proven on {node}: its network is {network or 'unknown'}"
        elif not given.efa_interfaces and is_efa:
            yield f"{node} used {network}, but '--efa-interfaces' is 0"
        elif is_efa and network.interfaces is not None and network.interfaces < given.efa_interfaces:
            yield f"{node} found {network.interfaces} EFA interfaces of {given.efa_interfaces}"


# ------------------------------------------------------------------------------------------------------------- tell


def sentences(given: argparse.Namespace, log: Log, reasons: Sequence[str]) -> Iterator[str]:
    """The verdict, for people."""
    row = compared_row(given, log)
    where = f"{len(log.ranks)} ranks on {len(log.nodes)} nodes"
    if row:
        yield (
            f"{given.collective}: bus bandwidth {row.out_of_place:g} GB/s out-of-place (the one that counts), "
            f"{row.in_place:g} GB/s in-place, at {_size(row.size)}, over {where}"
        )
    for node in log.nodes:
        yield f"network of {node}: {log.networks.get(node, 'unknown')}"
    if given.minimum_bus_bandwidth:
        source = f"; published: {given.published}" if given.published else ""
        yield f"minimum: {given.minimum_bus_bandwidth:g} GB/s{source}"
    else:
        yield "minimum: none was given, so the bandwidth is compared with nothing"
    yield from (f"FAIL: {reason}" for reason in reasons) if reasons else ["PASS"]


def _size(size: int) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} bytes"


def results(given: argparse.Namespace, log: Log, reasons: Sequence[str]) -> dict[str, Any]:
    """The verdict, for programs: bandwidths in GB/s, sizes in bytes."""
    row = compared_row(given, log)
    return {
        "collective": given.collective,
        "passed": not reasons,
        "failures": list(reasons),
        "bus_bandwidth": row and row.out_of_place,
        "message_bytes": row and row.size,
        "minimum_bus_bandwidth": given.minimum_bus_bandwidth,
        "published": given.published,
        "ranks": len(log.ranks),
        "networks": {node: str(log.networks.get(node, "unknown")) for node in log.nodes},
        "sizes": [
            {"bytes": row.size, "out_of_place": row.out_of_place, "in_place": row.in_place, "wrong": row.wrong}
            for row in log.rows
        ],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Goes from the command line to the exit code."""
    try:
        given = parse_options(arguments)
        if given.output_dir:
            files.make_writable(given.output_dir)
        log = Log()
        code = run_through(given.command, log)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 2
    reasons = list(failures(given, log, code))
    for sentence in sentences(given, log, reasons):
        print(sentence, flush=True)
    if given.output_dir:
        files.write_json(given.output_dir / "results.json", results(given, log, reasons))
    return code or int(bool(reasons))


if __name__ == "__main__":
    sys.exit(main())
