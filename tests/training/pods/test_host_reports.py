import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Callable

import pytest

from tests.training.mpirun import free_ports
from training.pods import host_reports
from training.pods.host_reports import Decision, Host, HostReports, Report

NAMES = ("algo-1", "algo-2", "algo-3")


class Clock:
    """A clock that the test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def reports(clock: Clock) -> HostReports:
    return HostReports(NAMES, 600, clock)


def report(reports: HostReports, *names: str, code: int | None = None, reason: str = "") -> Decision:
    (*_, last) = [reports.take(Report(host=name, code=code, reason=reason)) for name in names]
    return last


def test_the_ranks_start_when_every_host_has_reported(reports: HostReports) -> None:
    assert report(reports, "algo-3").missing == ("algo-1", "algo-2")
    assert report(reports, "algo-1").missing == ("algo-2",)
    assert report(reports, "algo-2") == Decision()


def test_hosts_that_do_not_report_in_time_are_named(reports: HostReports, clock: Clock) -> None:
    report(reports, "algo-1")
    clock.now += 599
    assert report(reports, "algo-1").code is None
    clock.now += 2
    end = report(reports, "algo-1")
    assert end.code == 1
    assert end.reason.startswith("2 of 3 hosts did not report within 600 s: algo-2, algo-3. Check")
    # 'trainctl sagemaker submit' has no option for the limit.
    assert "--timeout" not in end.reason


def test_no_rank_starts_where_a_host_has_failed_before(reports: HostReports) -> None:
    report(reports, "algo-1")
    end = Decision(code=2, reason="algo-3: it cannot write")
    assert report(reports, "algo-3", code=2, reason="it cannot write") == end
    assert report(reports, "algo-2") == end


def test_a_job_ends_with_0_when_the_ranks_of_every_host_have(reports: HostReports) -> None:
    report(reports, *NAMES)
    assert report(reports, "algo-1", "algo-2", code=0).code is None
    assert report(reports, "algo-3", code=0) == Decision(code=0)


def test_a_stopped_job_ends_with_the_code_of_its_ranks(reports: HostReports) -> None:
    report(reports, *NAMES)
    assert report(reports, *NAMES, code=75, reason="exit code 75").code == 75


def test_a_failed_host_ends_the_job_when_the_others_had_time_to_fail_too(reports: HostReports, clock: Clock) -> None:
    report(reports, *NAMES)
    assert report(reports, "algo-2", code=3, reason="exit code 3: ValueError: NaN").code is None
    clock.now += 9
    assert report(reports, "algo-1", "algo-3").code is None
    clock.now += 2
    assert report(reports, "algo-1", "algo-3") == Decision(code=3, reason="algo-2: exit code 3: ValueError: NaN")


@pytest.mark.parametrize(
    ("ends", "code", "reason"),
    [
        # A user's mistake on one host, because of which the ranks of the others fail.
        (
            [("algo-1", 1, "HorovodInternalError"), ("algo-2", 2, "'--epochs' is 0"), ("algo-3", 1, "")],
            2,
            "algo-2: '--epochs' is 0",
        ),
        # Rank zero alone prints a mistake that all ranks see; another host may be faster.
        (
            [("algo-2", 2, "exit code 2"), ("algo-1", 2, "exit code 2: '--epochs' is 0"), ("algo-3", 2, "exit code 2")],
            2,
            "algo-1: exit code 2: '--epochs' is 0",
        ),
        # The first report may be that of a rank that has lost another one.
        (
            [
                ("algo-3", 1, "horovod.common.exceptions.HorovodInternalError"),
                ("algo-1", 137, "killed"),
                ("algo-2", 0, ""),
            ],
            137,
            "algo-1: killed",
        ),
        (
            [("algo-3", 1, "HorovodInternalError"), ("algo-1", 1, "HorovodInternalError"), ("algo-2", 0, "")],
            1,
            "algo-3: HorovodInternalError",
        ),
    ],
)
def test_the_end_is_that_of_the_host_with_the_cause(
    reports: HostReports, ends: list[tuple[str, int, str]], code: int, reason: str
) -> None:
    report(reports, *NAMES)
    for host, each, said in ends:
        report(reports, host, code=each, reason=said)
    assert report(reports, "algo-1") == Decision(code=code, reason=reason)


def test_a_host_that_is_silent_when_others_fail_is_named_as_lost(reports: HostReports, clock: Clock) -> None:
    report(reports, *NAMES)
    report(reports, "algo-1", code=1, reason="HorovodInternalError")
    report(reports, "algo-3", code=1, reason="HorovodInternalError")
    clock.now += 10.5
    end = report(reports, "algo-1")
    assert end == Decision(code=1, reason="lost: algo-2, silent for 10 s; algo-1: HorovodInternalError")


def test_a_host_that_is_silent_for_a_minute_ends_the_job(reports: HostReports, clock: Clock) -> None:
    report(reports, *NAMES)
    for _ in range(60):
        clock.now += 1
        assert report(reports, "algo-1", "algo-3").code is None
    clock.now += 1
    assert report(reports, "algo-1") == Decision(code=1, reason="lost: algo-2, silent for 61 s")


def test_a_host_that_is_lost_before_the_start_ends_the_job(reports: HostReports, clock: Clock) -> None:
    report(reports, "algo-1", "algo-2")
    clock.now += 61
    assert report(reports, "algo-1").reason == "lost: algo-2, silent for 61 s"


def test_the_first_host_does_not_wait_for_lost_hosts_to_learn_the_end(reports: HostReports, clock: Clock) -> None:
    report(reports, "algo-1", "algo-2", "algo-3")
    clock.now += 6
    report(reports, "algo-1", "algo-3")
    assert reports.listening() == {"algo-1", "algo-3"}


def test_the_first_host_waits_for_a_silent_host_that_has_reported_its_end(reports: HostReports, clock: Clock) -> None:
    report(reports, *NAMES)
    report(reports, "algo-2", code=0)
    clock.now += 59
    report(reports, "algo-1", "algo-3", code=0)
    assert reports.listening() == set(NAMES)
    clock.now += 2
    assert reports.listening() == {"algo-1", "algo-3"}


def test_the_first_host_waits_for_those_that_still_have_time_to_come(reports: HostReports, clock: Clock) -> None:
    report(reports, "algo-1", code=2, reason="it cannot write")
    clock.now += 599
    assert reports.listening() == {"algo-2", "algo-3"}
    clock.now += 2
    assert reports.listening() == set()


def test_a_host_that_comes_after_the_first_one_has_failed_learns_the_end() -> None:
    first, second = (Host(name, ADDRESSES, 60, SECRET) for name in ADDRESSES)
    ends: list[Decision] = []

    def run_first() -> None:
        with first.serve():
            ends.append(first.finish(2, "it cannot write"))

    thread = in_thread(run_first)
    time.sleep(0.5)
    assert not second.wait_for_start()
    assert second.finish() == Decision(code=2, reason="127.0.0.1: it cannot write")
    thread.join(60)
    assert ends == [Decision(code=2, reason="127.0.0.1: it cannot write")]


def test_an_end_that_is_decided_stays(reports: HostReports, clock: Clock) -> None:
    report(reports, *NAMES)
    report(reports, *NAMES, code=0)
    clock.now += 1000
    assert report(reports, "algo-3", code=1, reason="late") == Decision(code=0)


# ------------------------------------------------------------------------------------------------ between two hosts


@pytest.fixture(autouse=True)
def _port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reports, "PORT", free_ports(1))
    monkeypatch.setattr(host_reports, "_PAUSE_SECONDS", 0.05)


# The first is where the server is.
ADDRESSES = ("127.0.0.1", "127.0.0.2")

SECRET = "a key of the job"


def in_thread(action: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    return thread


def test_hosts_wait_for_each_other_and_end_with_the_same_decision() -> None:
    first, second = (Host(name, ADDRESSES, 60, SECRET) for name in ADDRESSES)
    ends: list[Decision] = []

    def run_second() -> None:
        assert second.wait_for_start()
        ends.append(second.finish(2, "'--epochs' is 0"))

    with first.serve():
        thread = in_thread(run_second)
        assert first.wait_for_start()
        ended = threading.Event()
        first.watch(ended.set)
        ends.append(first.finish(1, "HorovodInternalError"))
        thread.join(60)
    assert ends == [Decision(code=2, reason="127.0.0.2: '--epochs' is 0")] * 2


def test_a_host_ends_its_ranks_when_the_job_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reports, "_SETTLE_SECONDS", 0.2)
    first, second = (Host(name, ADDRESSES, 60, SECRET) for name in ADDRESSES)
    with first.serve():
        in_thread(second.wait_for_start)
        assert first.wait_for_start()
        ended = threading.Event()
        first.watch(ended.set)
        assert not ended.wait(0.3)
        thread = in_thread(lambda: second.finish(1, "ValueError"))
        assert ended.wait(60)
        assert first.finish(143, "ended").code == 1
        thread.join(60)


def test_a_host_keeps_to_the_end_while_it_ends_its_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reports, "GONE_SECONDS", 0.0)
    first, second = (Host(name, ADDRESSES, 60, SECRET) for name in ADDRESSES)
    with first.serve():
        in_thread(second.wait_for_start)
        assert first.wait_for_start()
        ended = threading.Event()
        second.watch(ended.set)
        monkeypatch.setattr(host_reports, "_SETTLE_SECONDS", 0.2)
        end = first.finish(2, "'--epochs' is 0")
    # The first host is gone now; the ranks of the second one still end.
    assert ended.wait(60)
    time.sleep(0.3)
    assert second.finish(143, "ended") == end == Decision(code=2, reason="127.0.0.1: '--epochs' is 0")


def test_a_host_ends_when_the_first_one_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reports, "GONE_SECONDS", 0.3)
    first, second = (Host(name, ADDRESSES, 60, SECRET) for name in ADDRESSES)
    with first.serve():
        thread = in_thread(first.wait_for_start)
        assert second.wait_for_start()
        thread.join(60)
    ended = threading.Event()
    second.watch(ended.set)
    assert ended.wait(60)
    end = second.finish(1, "HorovodInternalError")
    lost = "lost: 127.0.0.1, the first host, does not answer (connection refused)"
    assert end == Decision(code=1, reason=f"{lost}; HorovodInternalError")


def test_a_host_ends_when_the_first_one_is_gone_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reports, "GONE_SECONDS", 0.3)
    first, second = (Host(name, [*ADDRESSES, "127.0.0.3"], 600, SECRET) for name in ADDRESSES)
    started: list[bool] = []
    with first.serve():
        thread = in_thread(lambda: started.append(second.wait_for_start()))
        # The second host has had its answer: the third one is missing.
        while first._ask(Report(host=first.name)).missing != ("127.0.0.3",):
            time.sleep(0.05)
    thread.join(60)
    assert started == [False]
    assert second.finish().reason == "lost: 127.0.0.1, the first host, does not answer (connection refused)"


def test_a_host_whose_first_host_never_answers_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reports, "_MARGIN_SECONDS", 0.2)
    second = Host("127.0.0.2", ADDRESSES, 0.2)
    assert not second.wait_for_start()
    end = second.finish()
    assert end.code == 1
    assert end.reason.startswith("127.0.0.1, the first of 2 hosts, did not answer within 0.4 s (connection refused).")


def test_a_late_first_host_is_waited_for(capfd: pytest.CaptureFixture[str]) -> None:
    first, second = (Host(name, ADDRESSES, 60, SECRET) for name in ADDRESSES)
    started: list[bool] = []
    thread = in_thread(lambda: started.append(second.wait_for_start()))
    time.sleep(0.5)
    assert capfd.readouterr().out == "waiting for 1 of 2 hosts, such as 127.0.0.1\n"
    with first.serve():
        assert first.wait_for_start()
        thread.join(60)
    assert started == [True]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"[" * 60_000,
        b'{"host": "stranger"}',
        b'{"host": "127.0.0.2", "more": 1}',
        b'{"host": "127.0.0.2", "code": "0"}',
        b'{"host": "127.0.0.2", "code": true}',
        b'{"host": "127.0.0.2", "code": 1, "reason": 5}',
    ],
)
def test_rejects_an_invalid_report_of_a_host(body: bytes) -> None:
    first = Host("127.0.0.1", ADDRESSES, 60, SECRET)
    with first.serve():
        assert post(body)[0] == 400
        status, answer = post(json.dumps({"host": "127.0.0.2"}).encode())
        assert (status, json.loads(answer)["missing"]) == (200, ["127.0.0.1"])


@pytest.mark.parametrize("length", ["-1", "65537", "many"])
def test_no_more_is_read_than_a_report_has(length: str) -> None:
    with Host("127.0.0.1", ADDRESSES, 60, SECRET).serve():
        connection = http.client.HTTPConnection("127.0.0.1", host_reports.PORT, timeout=60)
        connection.putrequest("POST", "/")
        connection.putheader("Content-Length", length)
        connection.endheaders()
        assert connection.getresponse().status == 400
        connection.close()


def post(body: bytes, *, key: str = SECRET, source: str = "127.0.0.1") -> tuple[int, bytes]:
    """Send a report to the first host, from an address of this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", host_reports.PORT, timeout=60, source_address=(source, 0))
    try:
        connection.request("POST", "/", body, {"X-Signature": host_reports._signature(key, body)})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_a_host_of_another_job_ends_nothing() -> None:
    first, second = (Host(name, ADDRESSES, 60, SECRET) for name in ADDRESSES)
    ended = threading.Event()
    with first.serve():
        thread = in_thread(second.wait_for_start)
        assert first.wait_for_start()
        first.watch(ended.set)
        thread.join(60)
        for code in (0, 1):
            for host in ADDRESSES:
                forged = json.dumps({"host": host, "code": code, "reason": "forged"}).encode()
                # Without the key, and as another host of the job, whose address is known.
                assert post(forged, key="another job's")[0] == 403
                assert post(forged, key="")[0] == 403
                assert post(forged, source="127.0.0.3")[0] == 403
        assert not ended.wait(0.3)
        thread = in_thread(lambda: second.finish(0))
        assert first.finish(9, "ValueError") == Decision(code=9, reason="127.0.0.1: ValueError")
        thread.join(60)


def test_an_answer_of_another_program_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reports, "LOST_SECONDS", 0.3)
    first, second = Host("127.0.0.1", ADDRESSES, 60, "another job's"), Host("127.0.0.2", ADDRESSES, 0.1, SECRET)
    monkeypatch.setattr(host_reports, "_MARGIN_SECONDS", 0.1)
    with first.serve():
        assert not second.wait_for_start()
    assert "(it rejects this host's report, or is another job's host: http 403)" in second.finish().reason


def test_a_host_that_is_lost_within_a_report_prints_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    first = Host("127.0.0.1", ADDRESSES, 60, SECRET)
    with first.serve():
        with socket.create_connection(("127.0.0.1", host_reports.PORT)) as lost:
            lost.sendall(b'POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n{"host"')
            time.sleep(0.2)
            # The kernel answers with a reset in place of an end.
            lost.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        time.sleep(0.2)
        assert first._follow(Report(host=first.name)).missing == ("127.0.0.2",)
    assert capfd.readouterr().err == ""
