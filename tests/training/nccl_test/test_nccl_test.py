import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from training.nccl_test.__main__ import parse
from training.runtime.errors import UserError

ROOT = Path(__file__).parents[3]
EFA = ["NET/OFI Selected Provider is efa (found 4 nics)", "Using network AWS Libfabric"]
SOCKET = ["NET/Socket : Using [0]eth0:10.11.5.31<0>", "Using network Socket"]
TABLE = """\
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    164.3    0.00    0.00      0    163.3    0.00    0.00      0
  1073741824     268435456     float     sum      -1    26217   40.96   76.79      0    26194   40.99   76.86      0
  2147483648     536870912     float     sum      -1    51406   41.78   78.33      0    51410   41.77   78.32      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 51.7067
#
"""


def log_of(networks: dict[str, list[str]], table: str = TABLE, tag: str = "[1,0]<stdout>:") -> str:
    lines = [
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 2147483648 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1"
    ]
    lines += ["# Using devices"]
    for number, node in enumerate(networks):
        for gpu in range(8):
            lines.append(
                f"#  Rank {number * 8 + gpu:2} Group  0 Pid   {gpu + 21} on {node} device  {gpu} [0x10] NVIDIA A100"
            )
    for node, lines_of_nccl in networks.items():
        lines += [f"{node}:21:27 [0] NCCL INFO {text}" for text in lines_of_nccl]
    return "".join(f"{tag}{line}\n" for line in [*lines, *table.splitlines()])


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """Return a placeholder of all_reduce_perf: it prints the file `log` and exits with the code in the file `code`."""
    program = tmp_path / "all_reduce_perf"
    program.write_text('#!/bin/sh\ncat "${0%/*}/log"\necho warning >&2\nexit $(cat "${0%/*}/code")\n')
    program.chmod(0o755)
    (tmp_path / "code").write_text("0")
    (tmp_path / "log").write_text(log_of({"worker-0": EFA, "worker-1": EFA}))
    return program


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    given = arguments if "--efa-interfaces" in arguments else ("--efa-interfaces", "4", *arguments)
    command = [
        sys.executable,
        "-m",
        "training.nccl_test",
        "--collective",
        "all_reduce",
        *given,
        "--",
        "sh",
        str(program),
    ]
    return subprocess.run([*command, "-b", "8", "-e", "2G"], cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_a_good_measurement_passes_and_its_output_is_forwarded_unchanged(fake: Path) -> None:
    done = run(fake, "--minimum-bus-bandwidth", "62.4", "--published", "78 GB/s at 2 GiB, 2 nodes", "--nodes", "2")
    assert done.returncode == 0
    # Its other line is that of results.json.
    shown = "".join(line for line in done.stdout.splitlines(keepends=True) if not line.startswith("results: "))
    assert shown == (fake.parent / "log").read_text() + (
        "warning\n"
        "all_reduce: bus bandwidth 78.33 GB/s out-of-place (the compared one), 78.32 GB/s in-place, at 2 GiB, "
        "over 16 ranks on 2 nodes\n"
        "network of worker-0: EFA with 4 interfaces\n"
        "network of worker-1: EFA with 4 interfaces\n"
        "minimum: 62.4 GB/s; published: 78 GB/s at 2 GiB, 2 nodes\n"
        "PASS\n"
    )
    assert done.stderr == ""


def test_reports_that_no_minimum_is_given(fake: Path) -> None:
    done = run(fake)
    assert done.returncode == 0
    assert done.stdout.endswith("minimum: none is given, so the bandwidth is not compared\nPASS\n")


@pytest.mark.parametrize(
    ("arguments", "networks", "table", "reason"),
    [
        (("--minimum-bus-bandwidth", "80"), None, TABLE, "78.33 GB/s is below the minimum of 80 GB/s"),
        (
            ("--minimum-bus-bandwidth", "77", "--message-gib", "1"),
            None,
            TABLE,
            "76.79 GB/s is below the minimum of 77 GB/s",
        ),
        (
            ("--message-gib", "16"),
            None,
            TABLE,
            "no message of 16 GiB was measured, only 8 bytes to 2 GiB; give -e that size",
        ),
        ((), None, "", "the output has no table of bandwidths"),
        ((), None, TABLE.replace("78.33      0", "78.33      7"), "7 values were wrong at 2 GiB"),
        ((), None, TABLE.replace(": 0 OK", ": 3 FAILED"), "3 values were out of bounds"),
        ((), {"worker-0": EFA, "worker-1": SOCKET}, TABLE, "EFA is not proven on worker-1: its network is Socket"),
        ((), {"worker-0": EFA, "worker-1": []}, TABLE, "EFA is not proven on worker-1: its network is unknown"),
        (("--nodes", "2"), {"worker-0": EFA}, TABLE, "1 nodes took part, not 2"),
        ((), {}, TABLE, "EFA is not proven: the output has no line of NCCL; set NCCL_DEBUG=INFO for every rank"),
        (
            ("--efa-interfaces", "0"),
            {"worker-0": EFA},
            TABLE,
            "worker-0 used EFA with 4 interfaces, but '--efa-interfaces' is 0",
        ),
        (("--efa-interfaces", "32"), {"worker-0": EFA}, TABLE, "worker-0 found 4 EFA interfaces of 32"),
    ],
)
def test_every_reason_fails_the_test(
    fake: Path, arguments: tuple[str, ...], networks: dict[str, list[str]] | None, table: str, reason: str
) -> None:
    networks = {"worker-0": EFA, "worker-1": EFA} if networks is None else networks
    (fake.parent / "log").write_text(log_of(networks, table))
    done = run(fake, *arguments)
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if line.startswith("FAIL")] == [f"FAIL: {reason}"]
    assert "PASS" not in done.stdout


def test_passes_without_efa_if_none_is_required(fake: Path) -> None:
    (fake.parent / "log").write_text(log_of({"worker-0": SOCKET, "worker-1": SOCKET}, tag=""))
    done = run(fake, "--efa-interfaces", "0", "--minimum-bus-bandwidth", "5")
    assert done.returncode == 0
    assert "network of worker-1: Socket\n" in done.stdout


def test_reports_all_reasons_at_once(fake: Path) -> None:
    (fake.parent / "log").write_text(log_of({"worker-0": SOCKET}, TABLE.replace(": 0 OK", ": 3 FAILED")))
    done = run(fake, "--minimum-bus-bandwidth", "300", "--nodes", "2")
    assert done.stdout.count("FAIL: ") == 4


def test_returns_the_exit_code_of_a_failed_command(fake: Path) -> None:
    (fake.parent / "code").write_text("7")
    (fake.parent / "log").write_text("worker-0: Test NCCL failure common.cu:958 'unhandled system error'\n")
    done = run(fake)
    assert done.returncode == 7
    assert "FAIL: the command ended with exit code 7\nFAIL: the output has no table of bandwidths\n" in done.stdout


def test_writes_results_json_and_prints_its_bandwidths(fake: Path, tmp_path: Path) -> None:
    done = run(fake, "--minimum-bus-bandwidth", "80", "--output-dir", str(tmp_path / "out"))
    content = json.loads((tmp_path / "out" / "results.json").read_text())
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("results: ")]
    assert json.loads(line.removeprefix("results: ")) == {
        "passed": False,
        "bus_bandwidth": 78.33,
        "bandwidths": {str(each["bytes"]): each["out_of_place"] for each in content["sizes"]},
    }
    assert content["sizes"][1] == {"bytes": 1073741824, "out_of_place": 76.79, "in_place": 76.86, "wrong": 0}
    del content["sizes"]
    assert content == {
        "collective": "all_reduce",
        "passed": False,
        "failures": ["78.33 GB/s is below the minimum of 80 GB/s"],
        "bus_bandwidth": 78.33,
        "message_bytes": 2147483648,
        "minimum_bus_bandwidth": 80.0,
        "published": None,
        "ranks": 16,
        "networks": {"worker-0": "EFA with 4 interfaces", "worker-1": "EFA with 4 interfaces"},
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is no command; give it after '--', as in: -- mpirun -np 16 all_reduce_perf -b 8 -e 2G -f 2"),
        (
            ["--", "mpirun", "all_gather_perf"],
            "the command 'mpirun all_gather_perf' does not run all_reduce_perf; run that, or "
            "give another '--collective'",
        ),
        (["--minimum-bus-bandwidth", "0"], "'--minimum-bus-bandwidth' is 0; give a number above 0"),
    ],
)
def test_reports_an_input_error_with_its_fix(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(["--collective", "all_reduce", "--efa-interfaces", "4", *arguments])
    assert str(caught.value) == message


def test_an_input_error_has_exit_code_2_and_no_traceback() -> None:
    arguments = ["--collective", "all_reduce", "--efa-interfaces", "4", "--", "/nowhere/all_reduce_perf"]
    command = [sys.executable, "-m", "training.nccl_test", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: '/nowhere/all_reduce_perf' cannot be run: No such file or directory; give a program of the image\n"
    )


def test_forwards_sigterm_to_the_command(tmp_path: Path) -> None:
    program = tmp_path / "all_reduce_perf"
    program.write_text("#!/bin/sh\necho $$\nexec sleep 60\n")
    program.chmod(0o755)
    arguments = ["--collective", "all_reduce", "--efa-interfaces", "0", "--", str(program)]
    command = [sys.executable, "-m", "training.nccl_test", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert "FAIL: the command ended with exit code 143" in process.stdout.read()
    assert process.returncode == 143
    deadline = time.monotonic() + 60
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_imports_neither_tensorflow_nor_horovod() -> None:
    code = "import sys, training.nccl_test.__main__; assert not {'tensorflow', 'horovod'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, env=os.environ, timeout=60)
