import time
from pathlib import Path

import pytest

from tests.training.pods.conftest import Sshd
from training.pods import await_workers
from training.pods.await_workers import read_hosts, wait
from training.pods.job_end import JobEnd


@pytest.fixture
def hostfile(tmp_path: Path) -> Path:
    path = tmp_path / "hostfile"
    path.write_text("127.0.0.1 slots=8\n127.0.0.2 slots=8\n")
    return path


def test_reads_names_and_slots(tmp_path: Path) -> None:
    path = tmp_path / "hostfile"
    path.write_text("# the operator's\n\na-worker-0.a.b.svc slots=8\na-worker-1.a.b.svc:2\nworker-2 max_slots=4\n")
    assert read_hosts(path) == {"a-worker-0.a.b.svc": 8, "a-worker-1.a.b.svc": 1, "worker-2": 1}


def test_returns_at_once_when_all_workers_answer(first: Sshd, hostfile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail(f"waits {seconds} s"))
    hostfile.write_text("127.0.0.1\n")
    seen: list[str] = []
    assert wait(hostfile, first.port, seconds=60, workers=None, when_answered=seen.extend) == ["127.0.0.1"]
    assert seen == ["127.0.0.1"]


def test_some_workers_are_enough_for_an_elastic_job(first: Sshd, hostfile: Path) -> None:
    assert wait(hostfile, first.port, seconds=60, workers=1) == ["127.0.0.1"]
    # More than the job has at present cannot answer.
    hostfile.write_text("127.0.0.1\n")
    assert wait(hostfile, first.port, seconds=60, workers=4) == ["127.0.0.1"]


def test_the_end_of_the_job_ends_the_wait(first: Sshd, hostfile: Path) -> None:
    def spend() -> None:
        raise JobEnd("the cap is reached")

    with pytest.raises(JobEnd, match="the cap is reached"):
        wait(hostfile, first.port, seconds=60, workers=None, meanwhile=spend)


def test_sees_a_changed_hostfile(first: Sshd, hostfile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: hostfile.write_text("127.0.0.1\n"))
    assert wait(hostfile, first.port, seconds=60, workers=None) == ["127.0.0.1"]


def test_a_worker_is_reported_once(first: Sshd, hostfile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[float] = []
    monkeypatch.setattr(time, "sleep", rounds.append)
    seen: list[str] = []
    with pytest.raises(JobEnd):
        wait(hostfile, first.port, seconds=0.05, workers=None, when_answered=seen.extend)
    assert seen == ["127.0.0.1"]
    assert rounds


def test_the_reasons_of_missing_workers_are_named(
    hostfile: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(await_workers, "no_answer", lambda host, port: f"{host} is away")
    hostfile.write_text("".join(f"job-worker-{number}.job.ns.svc slots=8\n" for number in range(5)))
    with pytest.raises(JobEnd) as caught:
        wait(hostfile, 2222, seconds=0.05, workers=None)
    away = "; ".join(f"job-worker-{number}: job-worker-{number}.job.ns.svc is away" for number in range(3))
    assert str(caught.value).startswith(f"5 of 5 workers did not answer within 0.05 s: {away}; and 2 more. Check with")
    assert caught.value.code == 1
    # Again only after a minute, or when their number changes.
    assert capsys.readouterr().out == (
        "waiting for 5 of 5 workers, such as job-worker-0.job.ns.svc: job-worker-0.job.ns.svc is away\n"
    )
