from collections.abc import Callable
from pathlib import Path

import pytest

from training.pods import job_end
from training.pods.job_end import Decided, JobEnd, listed


def test_the_first_workers_are_listed_by_the_name_of_their_pods() -> None:
    reasons = {f"job-worker-{number}.job.ns.svc": f"reason {number}" for number in range(5)}
    assert listed(reasons) == "job-worker-0: reason 0; job-worker-1: reason 1; job-worker-2: reason 2; and 2 more"
    assert listed({"10.0.0.1": "down"}) == "10.0.0.1: down"


def test_the_message_for_kubernetes_is_as_short_as_it_must_be(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    job_end.show("x" * 10_000, log)
    assert log.stat().st_size == 4096
    job_end.show("\udcff" + "é" * 10_000, log)
    assert log.read_text() == "?" + "é" * 2047


def test_a_termination_log_that_cannot_be_written_is_no_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job_end.show("lost", tmp_path)
    assert capsys.readouterr().err == "error: lost\n"


@pytest.mark.usefixtures("ssh")
def test_a_decision_is_found_on_every_worker_that_answered() -> None:
    end = JobEnd("the ranks ended with exit code 2: '--epochs' is \"0\"; $HOME", 2)
    job_end.recall(["worker-0"], 2222)
    job_end.keep(end, ["worker-0", "worker-1"], 2222)
    for host in ("worker-0", "worker-1"):
        with pytest.raises(Decided) as caught:
            job_end.recall([host], 2222)
        assert (str(caught.value), caught.value.code) == (str(end), 2)
    job_end.recall(["worker-2"], 2222)


@pytest.mark.usefixtures("ssh")
def test_a_worker_that_was_replaced_does_not_hide_a_decision() -> None:
    job_end.keep(JobEnd("wrong", 2), ["worker-1"], 2222)
    with pytest.raises(Decided, match="wrong"):
        job_end.recall(["worker-0", "worker-1"], 2222)


@pytest.mark.parametrize("text", ['{"code": 2, "rea', "[]", '"text"', "{}", '{"code": null, "reason": ""}'])
def test_an_incomplete_decision_is_none(text: str, ssh: Callable[[str, str], None]) -> None:
    ssh("worker-0", f"printf '%s' '{text}'")
    job_end.recall(["worker-0"], 2222)


def test_a_decision_is_written_completely_or_not_at_all(ssh: Callable[[str, str], None], tmp_path: Path) -> None:
    ssh("worker-0", f'mv() {{ ls {tmp_path}/ssh/worker-0 > {tmp_path}/before; command mv "$@"; }}; eval "$1"')
    job_end.keep(JobEnd("wrong", 2), ["worker-0"], 2222)
    assert (tmp_path / "before").read_text().split() == ["answer", "job-end.partial"]
    assert (tmp_path / "ssh/worker-0/job-end").read_text() == '{"code": 2, "reason": "wrong"}'
