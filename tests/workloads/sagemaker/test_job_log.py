from collections.abc import Iterator

import pytest

from tests.workloads.aws.stubbed_session import StubbedSession
from tests.workloads.sagemaker.training_job_answers import NAME, answer_log, at, event
from training_workloads.aws.errors import RejectionError
from training_workloads.sagemaker.job_log import JobLog

#: A minute before the line of second 30.
BEFORE = int(at(4, 30).timestamp() * 1000)


@pytest.fixture
def session() -> Iterator[StubbedSession]:
    stubbed = StubbedSession()
    yield stubbed
    stubbed.all_asked()


def test_lines_of_all_hosts_have_host_and_rank(session: StubbedSession) -> None:
    answer_log(session, event(1, 1, "algo-1: starts 8 of 16 ranks\n"), event(2, 12, "[1,9]<stdout>:ready"))
    assert JobLog(session, NAME).read() == (
        ["algo-1 | algo-1: starts 8 of 16 ranks", "algo-12 | rank  9 | ready"],
        False,
    )


def test_pages_follow_each_other_and_no_line_comes_twice(session: StubbedSession) -> None:
    log = JobLog(session, NAME)
    answer_log(session, event(1, 1, "one"), token="t")
    answer_log(session, event(2, 1, "two", second=30), nextToken="t")
    assert [log.read(), log.read()] == [(["algo-1 | one"], True), (["algo-1 | two"], False)]
    # A line of another host may be late, and has an earlier time.
    answer_log(session, event(2, 1, "two", second=30), event(3, 2, "late", second=29), startTime=BEFORE)
    assert log.read() == (["algo-2 | late"], False)
    answer_log(session, event(2, 1, "two", second=30), event(3, 2, "late", second=29), startTime=BEFORE)
    assert log.read() == ([], False)


def test_before_the_first_job_of_a_region_there_is_no_log(session: StubbedSession) -> None:
    session.reject("logs", "filter_log_events", "ResourceNotFoundException", "The specified log group does not exist.")
    assert JobLog(session, NAME).read() == ([], False)


def test_after_an_error_the_same_page_is_read_again(session: StubbedSession) -> None:
    log = JobLog(session, NAME)
    answer_log(session, event(1, 1, "one"), token="t")
    log.read()
    session.reject("logs", "filter_log_events", "ThrottlingException")
    with pytest.raises(RejectionError):
        log.read()
    answer_log(session, event(2, 1, "two"), nextToken="t")
    assert log.read() == (["algo-1 | two"], False)


def test_the_memory_does_not_grow_with_the_log(session: StubbedSession) -> None:
    log = JobLog(session, NAME)
    answer_log(session, event(1, 1, "one"))
    log.read()
    answer_log(session, event(2, 1, "two", second=30), startTime=BEFORE - 30_000)
    log.read()
    late = event(3, 1, "three", second=30) | {"timestamp": int(at(7).timestamp() * 1000)}
    answer_log(session, late, startTime=BEFORE)
    log.read()
    assert list(log._shown) == ["3"]
