import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.mpirun import mpirun_variables
from tests.training.pods.conftest import Sshd
from training.pods import launcher
from training.pods.job_end import JobEnd
from training.pods.ranks_attempt import Attempt
from training.pods.reachable_hosts import ANSWERED

Answer = Callable[[str, str], None]

CLOSED = "connection refused on port {}"

pytestmark = pytest.mark.usefixtures("ssh")


def start(hostfile: Path, port: int, *command: str) -> subprocess.Popen[str]:
    options = ["--port", str(port), "--gate", "no", str(hostfile)]
    words = [sys.executable, "-m", "training.pods.launcher", *options, "--", *command]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_starts_the_program_when_the_last_worker_answers(first: Sshd, tmp_path: Path) -> None:
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("127.0.0.1 slots=2\n127.0.0.2 slots=2\n")
    process = start(hostfile, first.port, "sh", "-c", "echo started; exit 7")
    assert process.stdout
    assert process.stdout.readline() == f"waiting for 1 of 2 workers, such as 127.0.0.2: {CLOSED.format(first.port)}\n"
    second = Sshd("127.0.0.2", first.port)
    assert process.stdout.readline() == "started\n"
    assert process.wait(timeout=60) == 7
    second.close()
    process.stdout.close()


def test_waits_for_an_unknown_name_until_sigterm(tmp_path: Path) -> None:
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("worker-0.job.default.svc.invalid slots=1\n")
    process = start(hostfile, 2222, "true")
    assert process.stdout
    name = "worker-0.job.default.svc.invalid"
    assert process.stdout.readline() == f"waiting for 1 of 1 workers, such as {name}: its name does not resolve\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 143
    process.stdout.close()


# Each of two ranks records its signal, waits for the other one's, and exits with the code of a stop request.
RANK = """
import os, signal, sys, time
from pathlib import Path
folder, rank = Path(sys.argv[1]), os.environ["OMPI_COMM_WORLD_RANK"]

def end(number, _):
    (folder / f"saved-{rank}").write_text(signal.Signals(number).name)
    while not all((folder / f"saved-{each}").exists() for each in "01"):
        time.sleep(0.02)
    sys.exit(75)

signal.signal(signal.SIGUSR1, end)
(folder / f"hosts-{rank}").write_text(os.environ["TRAINING_HOSTS"])
(folder / f"runs-{rank}").touch()
while True:
    time.sleep(0.02)
"""


@pytest.mark.parametrize("mpirun", [Path(sys.executable).parent / "mpirun", Path("/usr/bin/mpirun")])
def test_forwards_sigterm_to_the_ranks_of_a_real_mpirun_as_sigusr1(
    mpirun: Path, first: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not mpirun.exists():
        pytest.skip(f"{mpirun} is not installed")
    for name, value in mpirun_variables(tmp_path / "mpi").items():
        monkeypatch.setenv(name, value)
    (tmp_path / "hostfile").write_text("127.0.0.1\n")
    (tmp_path / "rank.py").write_text(RANK)
    placement = [
        "--map-by",
        "slot:OVERSUBSCRIBE",
        "--bind-to",
        "none",
        "--mca",
        "pml",
        "ob1",
        "--mca",
        "btl",
        "^openib",
    ]
    ranks = [sys.executable, str(tmp_path / "rank.py"), str(tmp_path)]
    with start(tmp_path / "hostfile", first.port, str(mpirun), "-np", "2", *placement, *ranks) as process:
        deadline = time.monotonic() + 60
        while not all((tmp_path / f"runs-{rank}").exists() for rank in (0, 1)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 75
    assert [(tmp_path / f"saved-{rank}").read_text() for rank in (0, 1)] == ["SIGUSR1", "SIGUSR1"]
    assert f"stop request: sends SIGUSR1 to {mpirun} and waits for its ranks\n" in output
    assert [(tmp_path / f"hosts-{rank}").read_text() for rank in (0, 1)] == ["127.0.0.1:1", "127.0.0.1:1"]


def test_forwards_sigterm_to_another_program(first: Sshd, tmp_path: Path) -> None:
    (tmp_path / "hostfile").write_text("127.0.0.1\n")
    script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    with start(tmp_path / "hostfile", first.port, "sh", "-c", script) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 5


def blocked_signals(task: Path) -> set[int]:
    (mask,) = (line.split()[1] for line in (task / "status").read_text().splitlines() if line.startswith("SigBlk:"))
    return {number for number in (signal.SIGTERM, signal.SIGINT) if int(mask, 16) >> (number - 1) & 1}


def test_only_the_main_thread_takes_requests_to_end(tmp_path: Path) -> None:
    """Reject a race: a thread that is about to exit took SIGTERM, and the launcher ended without its program."""
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("127.0.0.1\n")
    # It accepts connections and never answers, so that the thread that asks it lives for seconds.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with start(hostfile, silent.getsockname()[1], "true") as process:
            tasks, deadline = dict[int, set[int]](), time.monotonic() + 60
            # It blocks them itself while it starts the thread.
            while len(tasks) < 2 or tasks[process.pid]:
                assert time.monotonic() < deadline
                tasks = {int(task.name): blocked_signals(task) for task in Path(f"/proc/{process.pid}/task").iterdir()}
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 143
    del tasks[process.pid]
    assert all(blocked == {signal.SIGTERM, signal.SIGINT} for blocked in tasks.values())


@pytest.mark.parametrize(
    ("content", "command", "message"),
    [
        (None, ["true"], "cannot be read: No such file or directory; give the operator's hostfile"),
        ("\n# comment\n", ["true"], "names no worker; give the operator's hostfile"),
        ("a slots=1\n", [], "the command is ''; give a program of the image after '--', such as mpirun"),
        ("a slots=1\n", ["mpirnu", "-np"], "the command is 'mpirnu -np'; give a program of the image after"),
    ],
)
def test_reports_an_input_error_without_a_traceback(
    content: str | None, command: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostfile = tmp_path / "hostfile"
    if content is not None:
        hostfile.write_text(content)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        assert launcher.main([str(hostfile), "--", *command]) == 2
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert message in capsys.readouterr().err


# --------------------------------------------------------------------------------------------------------- restarts


# Without the pauses; the second number makes a stop request late enough not to count.
WITHOUT_PAUSES = """
import sys
from training.pods import launcher, repeated_training
launcher._FIRST_PAUSE_SECONDS, launcher._SOON_SECONDS, repeated_training._LEAST_SECONDS = 0.01, {soon}, 0
sys.exit(launcher.main())
"""


@pytest.fixture
def repeat(first: Sshd, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs a script as the launch command of one worker, without pauses before restarts."""
    (tmp_path / "hostfile").write_text("127.0.0.1 slots=2\n")

    def run(script: str, restarts: int, soon: float = 60.0) -> subprocess.CompletedProcess[str]:
        options = ["--port", str(first.port), "--gate", "no", "--restarts", str(restarts), str(tmp_path / "hostfile")]
        words = [sys.executable, "-c", WITHOUT_PAUSES.format(soon=soon), *options, "--", "sh", "-c", script]
        return subprocess.run(words, capture_output=True, text=True, timeout=60)

    return run


def counted(folder: Path, *codes: int) -> str:
    """Return a script whose starts end with these codes, the last one again and again."""
    cases = "".join(f"{number}) exit {code};; " for number, code in enumerate(codes[:-1], 1))
    return f"echo start >> {folder}/starts; case $(wc -l < {folder}/starts) in {cases}*) exit {codes[-1]};; esac"


def starts(folder: Path) -> int:
    return (folder / "starts").read_text().count("start")


Repeat = Callable[..., subprocess.CompletedProcess[str]]


def test_restarts_ranks_that_failed(repeat: Repeat, tmp_path: Path) -> None:
    done = repeat(counted(tmp_path, 137, 1, 0), restarts=2)
    assert (done.returncode, starts(tmp_path), done.stderr) == (0, 3, "")
    assert done.stdout.splitlines() == [
        "restart 1 of 2 in 0.01 s: the ranks ended with exit code 137",
        "restart 2 of 2 in 0.02 s: the ranks ended with exit code 1",
    ]


def test_a_crash_that_repeats_ends_the_job_with_its_reason(repeat: Repeat, tmp_path: Path) -> None:
    done = repeat(f"echo '[1,0]<stderr>:ValueError: no such layer' >&2; {counted(tmp_path, 1)}", restarts=2)
    assert (done.returncode, starts(tmp_path)) == (1, 3)
    assert done.stderr.splitlines()[-1] == (
        "error: the ranks ended with exit code 1: ValueError: no such layer; "
        "the ranks restarted 2 times, as often as they may"
    )


def test_a_users_mistake_ends_the_job_at_once(repeat: Repeat, tmp_path: Path) -> None:
    script = f"echo \"[1,0]<stderr>:error: '--epochs' is 0; give 1 or more\" >&2; {counted(tmp_path, 2)}"
    done = repeat(script, restarts=10)
    assert (done.returncode, starts(tmp_path)) == (2, 1)
    assert done.stderr.splitlines()[-1] == (
        "error: the ranks ended with exit code 2: '--epochs' is 0; give 1 or more. "
        "A restart would repeat it: cancel the job, fix it, submit it again"
    )


def test_a_users_mistake_in_a_rank_of_horovodrun_ends_the_job_at_once(repeat: Repeat, tmp_path: Path) -> None:
    words = "RuntimeError: … The first process to do so was:\\nProcess name: 1\\nExit code: 2\\n"
    done = repeat(f"printf '[0]<stderr>:error: no such file\\n{words}' >&2; {counted(tmp_path, 1)}", restarts=10)
    assert (done.returncode, starts(tmp_path)) == (2, 1)
    assert "error: the ranks ended with exit code 2: no such file. A restart" in done.stderr


# The other rank still runs when the first one has failed.
MISTAKE = """
import os, sys, time
if "0" in (os.environ.get("HOROVOD_RANK"), os.environ.get("OMPI_COMM_WORLD_RANK")):
    sys.exit(print("error: wrong option", file=sys.stderr) or 2)
time.sleep(1)
sys.exit(2)
"""


@pytest.mark.parametrize("launch", ["mpirun", "horovodrun"])
def test_the_real_launchers_report_a_users_mistake(
    launch: str, first: Sshd, hostfile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path(sys.executable).parent / launch
    if not program.exists():
        pytest.skip(f"{program} is not installed")
    discovery = hostfile.parent / "discover_hosts.sh"
    discovery.write_text("#!/bin/sh\necho localhost:2\n")
    discovery.chmod(0o755)
    elastic = f"--min-np 2 --max-np 2 --host-discovery-script {discovery} --slots-per-host 2 --network-interface lo"
    options = {"mpirun": "--map-by slot:OVERSUBSCRIBE --tag-output", "horovodrun": elastic}[launch].split()
    script = hostfile.parent / "rank.py"
    script.write_text(MISTAKE)
    for name, value in mpirun_variables(hostfile.parent / "mpi").items():
        monkeypatch.setenv(name, value)
    words = [str(program), "-np", "2", *options, sys.executable, str(script)]
    done = run(hostfile, first.port, "--gate", "no", "--restarts", "5", "--", *words)
    assert done.returncode == 2, done.stderr
    reason = "the ranks ended with exit code 2: wrong option. A restart"
    assert (hostfile.parent / "termination-log").read_text().startswith(reason)


def test_ranks_that_were_stopped_on_request_restart_without_limit(repeat: Repeat, tmp_path: Path) -> None:
    done = repeat(counted(tmp_path, 75, 75, 75, 0), restarts=0, soon=0.0)
    assert (done.returncode, starts(tmp_path)) == (0, 4)


def test_ranks_that_are_stopped_as_soon_as_they_start_restart_as_often_as_others(
    repeat: Repeat, tmp_path: Path
) -> None:
    done = repeat(counted(tmp_path, 75), restarts=1)
    assert (done.returncode, starts(tmp_path)) == (75, 2)


@pytest.mark.parametrize(("restarts", "seconds"), [(1, 5.0), (2, 10.0), (4, 40.0), (5, 60.0), (2000, 60.0)])
def test_pauses_grow_to_a_minute(restarts: int, seconds: float, tmp_path: Path) -> None:
    (tmp_path / "hostfile").touch()
    settings = launcher.parse(["--restarts", "2000", str(tmp_path / "hostfile"), "--", "true"])
    attempt = Attempt(code=1, stopped=False, not_efa=None, message="", seconds=1.0)
    assert launcher.next_pause(settings, attempt, restarts) == seconds


def test_a_stop_request_between_two_starts_ends_the_launcher(first: Sshd, tmp_path: Path) -> None:
    (tmp_path / "hostfile").write_text("127.0.0.1\n")
    options = ["--port", str(first.port), "--gate", "no", "--restarts", "3", str(tmp_path / "hostfile")]
    words = [sys.executable, "-m", "training.pods.launcher", *options, "--", "sh", "-c", "exit 9"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "restart 1 of 3 in 5 s: the ranks ended with exit code 9\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143


def test_workers_that_answered_an_earlier_start_are_forgotten(repeat: Repeat, tmp_path: Path) -> None:
    # As horovodrun's discovery script leaves it.
    file = f'"$TMPDIR/{ANSWERED.name}"'
    look = f"ls {file} >> {tmp_path}/seen 2>/dev/null; touch {file}; {counted(tmp_path, 1, 0)}"
    assert repeat(look, restarts=1).returncode == 0
    assert (tmp_path / "seen").read_text() == ""


def test_an_old_decision_does_not_end_a_job_that_runs_again(repeat: Repeat, tmp_path: Path) -> None:
    # As of a worker that answers only after the ranks have started without it.
    decide = f"""echo '{{"code": 2, "reason": "old"}}' > {tmp_path}/ssh/127.0.0.1/job-end"""
    assert repeat(f"{decide}; {counted(tmp_path, 1, 0)}", restarts=1).returncode == 0


# ----------------------------------------------------------------------------------------------------------- reasons


def run(hostfile: Path, port: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a launcher with these options, and the words after '--'."""
    end = words.index("--")
    options = ["--port", str(port), "--termination-log", str(hostfile.parent / "termination-log"), *words[:end]]
    command = [sys.executable, "-m", "training.pods.launcher", *options, str(hostfile), *words[end:]]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture
def hostfile(tmp_path: Path) -> Path:
    """Return a hostfile with one worker, beside an empty termination log."""
    (tmp_path / "termination-log").touch()
    (tmp_path / "hostfile").write_text("127.0.0.1 slots=2\n")
    return tmp_path / "hostfile"


def test_the_reason_is_in_the_log_and_the_termination_message(first: Sshd, hostfile: Path) -> None:
    done = run(hostfile, first.port, "--gate", "no", "--", "sh", "-c", "echo 'error: wrong' >&2; exit 2")
    reason = (
        "the ranks ended with exit code 2: wrong. A restart would repeat it: cancel the job, fix it, submit it again"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: wrong\nerror: {reason}\n"
    assert (hostfile.parent / "termination-log").read_text() == reason


def test_a_later_launcher_keeps_to_the_decision(first: Sshd, hostfile: Path) -> None:
    assert run(hostfile, first.port, "--gate", "no", "--", "sh", "-c", "exit 2").returncode == 2
    reason = (hostfile.parent / "termination-log").read_text()
    (hostfile.parent / "termination-log").write_text("")
    # Not even where other workers do not answer any more.
    hostfile.write_text("127.0.0.9\n127.0.0.1\n")
    done = run(hostfile, first.port, "--gate", "no", "--", "echo", "started")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {reason}\n")
    assert (hostfile.parent / "termination-log").read_text() == reason


def test_a_program_that_the_kernel_cannot_run_is_reported(first: Sshd, hostfile: Path) -> None:
    script = hostfile.parent / "train"
    script.write_text("echo trained\n")
    script.chmod(0o755)
    done = run(hostfile, first.port, "--gate", "no", "--", str(script))
    reason = (hostfile.parent / "termination-log").read_text()
    assert reason.startswith(f"'{script}' cannot be run: Exec format error; give a script")
    assert (done.returncode, done.stderr) == (2, f"error: {reason}\n")


def test_a_missing_termination_log_is_no_problem(first: Sshd, hostfile: Path) -> None:
    (hostfile.parent / "termination-log").unlink()
    assert run(hostfile, first.port, "--gate", "no", "--", "sh", "-c", "exit 7").returncode == 7
    assert not (hostfile.parent / "termination-log").exists()


def test_workers_that_do_not_answer_in_time_end_the_job_by_name(first: Sshd, hostfile: Path) -> None:
    hostfile.write_text("127.0.0.1\nworker-1.job.default.svc.invalid\n127.0.0.2\n")
    done = run(hostfile, first.port, "--timeout", "1", "--gate", "no", "--", "echo", "started")
    assert done.returncode == 1
    assert "started" not in done.stdout
    assert done.stderr.startswith(
        "error: 2 of 3 workers did not answer within 1 s: worker-1: its name does not resolve; "
        f"127.0.0.2: {CLOSED.format(first.port)}. Check with 'trainctl status' and"
    )


def test_a_worker_that_the_gate_rejects_ends_the_job_by_name(first: Sshd, hostfile: Path, ssh: Answer) -> None:
    result = '{"problems": ["7 of 8 GPUs"], "notes": [], "time": %s}'
    ssh("127.0.0.1", f"case $1 in *node_check*) printf '{result}\\n' $(date +%s);; esac")
    done = run(hostfile, first.port, "--gpus", "8", "--", "echo", "started")
    assert done.returncode == 1
    assert "started" not in done.stdout
    assert done.stderr.startswith("error: 1 of 1 workers cannot run the job: 127.0.0.1: 7 of 8 GPUs. replace the node")


def test_the_gate_opens_for_a_worker_that_has_what_is_requested(first: Sshd, hostfile: Path) -> None:
    done = run(hostfile, first.port, "--mount", str(hostfile.parent), "--", "echo", "started")
    gate, started = done.stdout.splitlines()
    assert gate.startswith("gate: 1 of 1 workers can run the job (checked in ")
    assert (done.returncode, started) == (0, "started")


TCP = "worker-{}:2{}:27 [0] NCCL INFO Using network Socket"


def test_silent_tcp_ends_a_job_that_has_requested_efa(first: Sshd, hostfile: Path) -> None:
    second = Sshd("127.0.0.2", first.port)
    hostfile.write_text("127.0.0.1 slots=1\n127.0.0.2 slots=1\n")
    script = f"echo '{TCP.format(0, 1)}'; echo '{TCP.format(1, 2)}'; exec sleep 600"
    done = run(hostfile, first.port, "--efa", "4", "--gate", "no", "--restarts", "9", "--", "sh", "-c", script)
    second.close()
    line = "network: tcp (Socket) on 2/2 nodes, although EFA was requested"
    assert done.returncode == 1
    assert done.stdout.splitlines() == [TCP.format(0, 1), TCP.format(1, 2), line]
    assert done.stderr.splitlines()[-1].startswith(f"error: {line}; use an image with the EFA plugin")


@pytest.mark.parametrize("bar", ["epoch 1 \\r", "epoch 1 5/12"])
def test_an_unfinished_line_does_not_keep_silent_tcp(bar: str, first: Sshd, hostfile: Path) -> None:
    second = Sshd("127.0.0.2", first.port)
    hostfile.write_text("127.0.0.1 slots=1\n127.0.0.2 slots=1\n")
    script = f"printf '{TCP.format(0, 1)}\n{TCP.format(1, 2)}\n{bar}'; exec sleep 600"
    done = run(hostfile, first.port, "--efa", "4", "--gate", "no", "--", "sh", "-c", script)
    second.close()
    line = "network: tcp (Socket) on 2/2 nodes, although EFA was requested"
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, line)


def test_a_job_without_efa_says_what_carries_the_gradients(first: Sshd, hostfile: Path) -> None:
    second = Sshd("127.0.0.2", first.port)
    hostfile.write_text("127.0.0.1 slots=1\n127.0.0.2 slots=1\n")
    script = f"echo '{TCP.format(0, 1)}'; echo '{TCP.format(1, 2)}'; echo trained"
    done = run(hostfile, first.port, "--gate", "no", "--", "sh", "-c", script)
    second.close()
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()[2:]) == ["network: tcp (Socket) on 2/2 nodes", "trained"]


def test_a_decided_end_keeps_its_code_without_a_hostfile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def end(_: launcher.Settings) -> int:
        raise JobEnd("the ranks ended with exit code 7", 7)

    monkeypatch.setattr(launcher, "run_job", end)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert launcher.main([str(tmp_path / "removed"), "--", "true"]) == 7
    assert capsys.readouterr().err == "error: the ranks ended with exit code 7\n"
