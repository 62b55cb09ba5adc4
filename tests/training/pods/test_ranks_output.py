import signal
import subprocess
import sys
import time

import pytest

# Runs the words after the first as a launch command; the first is the number of workers.
PROGRAM = """
import signal, sys
from training.pods.first_process import Child
from training.pods.network_line import NetworkWatch
from training.pods.ranks_output import RanksOutput
from training.pods.repeated_training import Starts

output = RanksOutput(Starts(), NetworkWatch(nodes=2, ranks=2, efa=0))
program = Child(sys.argv[1:], output.ends)
output.start()
while program.wait_for_stop_request():
    program.send(signal.SIGTERM)
output.finish()
print(f"{program.code} {output.code_of_a_rank} {output.message}", file=sys.stderr)
"""

NCCL = "worker-{0}:2{0}:27 [0] NCCL INFO Using network Socket"


def command(*words: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *words]


def run(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command(*words), capture_output=True, timeout=60)


def test_both_streams_are_forwarded_unchanged() -> None:
    done = run("sh", "-c", "printf 'a\\r\\n\\0\\377b'; printf 'no end' >&2")
    assert done.stdout == b"a\r\n\0\xffb"
    assert done.stderr == b"no end0 None \n"


def test_output_is_forwarded_at_once_and_not_when_a_buffer_is_full() -> None:
    with subprocess.Popen(command("sh", "-c", "printf .; exec sleep 50"), stdout=subprocess.PIPE) as process:
        assert process.stdout
        # The program ends long after it is read.
        assert process.stdout.read(1) == b"."
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == b""


def test_much_output_arrives_complete() -> None:
    count = 200_000
    script = f"import sys\nfor n in range({count}): print('[1,0]<stdout>:step', n, 'loss 0.123456789')"
    started = time.monotonic()
    done = run(sys.executable, "-c", script)
    lines = done.stdout.splitlines()
    assert len(lines) == count
    assert lines[-1] == f"[1,0]<stdout>:step {count - 1} loss 0.123456789".encode()
    print(f"{len(done.stdout) / 2**20 / (time.monotonic() - started):.0f} MiB/s")


def test_a_slow_reader_of_a_non_blocking_file_gets_everything() -> None:
    program = f"import os; os.set_blocking(1, False)\n{PROGRAM}"
    words = [sys.executable, "-c", program, "head", "-c", "1000000", "/dev/zero"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.read(1)
        # The pipe, of 64 KiB, is full long before.
        time.sleep(1)
        assert len(process.stdout.read()) == 999_999
        assert process.stderr.read() == b"0 None \n"


def test_an_error_in_reading_the_network_does_not_hold_the_output() -> None:
    program = PROGRAM.replace("output =", "NetworkWatch.read = lambda *_: {}['plugin']\noutput =")
    words = [sys.executable, "-c", program, "head", "-c", "1000000", "/dev/zero"]
    done = subprocess.run(words, capture_output=True, timeout=60)
    assert len(done.stdout) == 1_000_000
    assert (
        done.stderr
        == b"error: the output of the ranks is no longer read, only forwarded: KeyError('plugin')\n0 None \n"
    )


def test_the_network_is_named_after_the_line_and_not_in_it() -> None:
    script = f"echo '{NCCL.format(0)}'; printf '{NCCL.format(1)}\\nepoch 1'; sleep 1; echo /12"
    done = run("sh", "-c", script)
    assert done.stdout.decode().splitlines() == [
        NCCL.format(0),
        NCCL.format(1),
        "epoch 1/12",
        "network: tcp (Socket) on 2/2 nodes",
    ]


def test_a_progress_bar_does_not_keep_the_network() -> None:
    script = f"printf '{NCCL.format(0)}\\n{NCCL.format(1)}\\n\\r 1/12'; sleep 1; printf '\\r 2/12\\n'"
    done = run("sh", "-c", script)
    lines = done.stdout.decode().split("\n")
    assert lines[-4:] == ["\r 1/12", "network: tcp (Socket) on 2/2 nodes", "\r 2/12", ""]


def test_what_keeps_the_output_open_does_not_hold_the_launcher() -> None:
    started = time.monotonic()
    done = run("sh", "-c", "sleep 50 & exit 3")
    assert done.stderr == b"3 None \n"
    assert time.monotonic() - started < 45


def test_a_closed_output_ends_the_command() -> None:
    with subprocess.Popen(command("yes"), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.read(1)
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == f"{128 + signal.SIGPIPE} None \n".encode()


@pytest.mark.parametrize(
    ("errors", "code", "message"),
    [
        ("[1,0]<stderr>:error: '--epochs' is 0", "None", "'--epochs' is 0"),
        ("[host@1,0]<stderr>: error: wrong\nprterun noticed that process rank 1", "None", "wrong"),
        ("train.py: error: the following arguments are required: --data", "None", "the following arguments are"),
        ("[1]<stderr>:Traceback (most recent call last):\n[1]<stderr>:ValueError: NaN", "None", "ValueError: NaN"),
        (
            "[1]<stderr>:tf.errors.UnknownError: lost\nmpirun has exited",
            "None",
            "tf.errors.UnknownError: lost",
        ),
        # horovodrun's own traceback is below the message of the rank.
        ("[0]<stderr>:error: no data\nRuntimeError: …:\nProcess name: 0\nExit code: 2", "2", "no data"),
        ("Killed", "None", ""),
    ],
)
def test_finds_the_reason_in_the_last_lines(errors: str, code: str, message: str) -> None:
    done = run("sh", "-c", f'printf "%s\\n" "{errors}" >&2; exit 1')
    assert done.stderr.decode().splitlines()[-1].startswith(f"1 {code} {message}")
