import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from training.pods import gate
from training.pods.job_end import JobEnd
from training.pods.requested import Requested

Answer = Callable[[str, str], None]

RESULT = '{"problems": [%s], "notes": [%s], "time": %s}'


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_REPEAT_SECONDS", 0.0)


def printed(problems: str = "", notes: str = "", clock: str = "$(date +%s)") -> str:
    """Return a script that prints a worker's result."""
    return f"printf '{RESULT % (problems, notes, '%s')}\\n' {clock}"


def reason(hosts: list[str], requested: Requested | None = None) -> str:
    with pytest.raises(JobEnd) as caught:
        gate.check(hosts, 2222, requested or Requested())
    assert caught.value.code == 1
    return str(caught.value)


def test_workers_that_pass_are_one_line(ssh: Answer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # With the real check of this machine.
    gate.check(["worker-0", "worker-1"], 2222, Requested(mount=(tmp_path,), shm_mib=1))
    assert capsys.readouterr().out.startswith("gate: 2 of 2 workers can run the job (checked in ")


def test_a_worker_that_fails_is_named_with_its_reasons(ssh: Answer) -> None:
    ssh("job-worker-0.job.ns.svc", printed())
    ssh("job-worker-1.job.ns.svc", printed('"7 of 8 GPUs", "/fsx is mounted read-only"'))
    assert reason(["job-worker-0.job.ns.svc", "job-worker-1.job.ns.svc"]).startswith(
        "1 of 2 workers cannot run the job: job-worker-1: 7 of 8 GPUs, /fsx is mounted read-only. replace the node"
    )


def test_a_worker_may_pass_the_second_time(ssh: Answer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = printed('"huge pages"')
    once = f"[ -e {tmp_path}/asked ] || {{ touch {tmp_path}/asked; {first}; exit; }}"
    ssh("worker-0", f"{once}; {printed()}")
    gate.check(["worker-0"], 2222, Requested())
    assert "gate: 1 of 1 workers can run the job" in capsys.readouterr().out


def test_lines_around_the_result_are_no_result(ssh: Answer) -> None:
    ssh("worker-0", f"echo '{{welcome}}'; {printed()}; echo 'good bye'")
    gate.check(["worker-0"], 2222, Requested())


def test_notes_of_all_workers_are_printed_once(ssh: Answer, capsys: pytest.CaptureFixture[str]) -> None:
    for host in ("worker-0", "worker-1"):
        ssh(host, printed(notes='"the image has no CUDA"'))
    gate.check(["worker-0", "worker-1"], 2222, Requested())
    assert capsys.readouterr().out.splitlines()[0] == "gate: the image has no CUDA"


def test_the_requests_reach_the_worker(ssh: Answer, tmp_path: Path) -> None:
    ssh("worker-0", f'echo "$1" > {tmp_path}/command; {printed()}')
    requested = Requested(gpus=8, efa=4, hugepages_mib=5120, shm_mib=32768, mount=(Path("/fsx"), Path("/a b")))
    gate.check(["worker-0"], 2222, requested)
    command = (tmp_path / "command").read_text()
    assert (
        "-m training.pods.node_check --gpus 8 --efa 4 --hugepages-mib 5120 --shm-mib 32768 --mount /fsx --mount '/a b' "
        "--seconds 60\n"
    ) in command
    assert command.startswith(f"cd {Path.cwd()} && exec ")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("exit 0", "the check ended with exit code 0"),
        ("echo 'checking: GPUs'", "the check printed no result, but 'checking: GPUs'"),
        ("""echo '{"problems": ['""", """the check printed no result, but '{"problems": ['"""),
        ("echo '{}'; echo bye", "the check printed no result, but '{}'"),
        ("echo 'python: not found' >&2; exit 127", "the check ended with exit code 127: python: not found"),
        (
            "echo 'Permission denied (publickey).' >&2; exit 255",
            "the check ended with exit code 255: Permission",
        ),
    ],
)
def test_a_worker_that_cannot_be_checked_is_named(script: str, expected: str, ssh: Answer) -> None:
    ssh("worker-0", script)
    assert f"worker-0: {expected}" in reason(["worker-0"])


def test_a_check_that_hangs_is_named(ssh: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "SECONDS", 1.0)
    monkeypatch.setattr(gate, "_SHORTEST_SECONDS", 0.5)
    ssh("worker-0", "echo 'checking: GPUs'; echo 'checking: mounts'; exec sleep 60")
    started = time.monotonic()
    assert "worker-0: no answer within 0 s to the check of mounts" in reason(["worker-0"])
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(("clock", "how"), [(+120, "ahead of"), (-120, "behind")])
def test_a_wrong_clock_is_named(clock: int, how: str, ssh: Answer) -> None:
    ssh("worker-0", printed(clock=f"$(($(date +%s) + {clock}))"))
    # Its clock has whole seconds, and the check takes some time.
    found = re.search(rf"worker-0: its clock is (\d+) s {how} the launcher's", reason(["worker-0"]))
    assert found
    assert 110 < int(found[1]) <= 121


def test_a_slow_answer_is_no_wrong_clock(ssh: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_CLOCK_SECONDS", 1.0)
    ssh("worker-0", f"sleep 1.5; {printed()}; sleep 1.5")
    gate.check(["worker-0"], 2222, Requested())
