from typing import Any

import pytest

from tests.constructs.account.lustre_answers import FILE_SYSTEM, answer_lustre
from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account.export_checks import exports_are_up_to_date
from training_cluster.account.lustre_state import NO_LAG, read_lustre

STACK = {"Lustre": ("AWS::FSx::FileSystem", FILE_SYSTEM)}
BEHIND = "the oldest change waits for its export for 90 s"


def test_reads_how_full_it_is_and_how_far_the_exports_are() -> None:
    account = StubbedAccount()
    answer_lustre(account, lag=90, task="EXECUTING")
    state = read_lustre(account, FILE_SYSTEM)
    assert state is not None
    assert (state.used_percent, state.export_lag_seconds, state.exports, state.tasks) == (50.0, 90, 1, 1)
    assert state.unexported == f"{BEHIND}; 1 data repository tasks run"
    account.all_asked()


def test_a_file_system_that_was_deleted_is_none() -> None:
    account = StubbedAccount()
    account.stubs.reject("fsx", "describe_file_systems", "FileSystemNotFound")
    assert read_lustre(account, FILE_SYSTEM) is None


@pytest.mark.parametrize(
    ("answers", "state", "actual"),
    [
        ({}, "ok", "AVAILABLE, lag 0 s"),
        ({"lag": None}, "skipped", NO_LAG),
        ({"lag": None, "exported": False}, "ok", "AVAILABLE, lag unknown"),
        ({"lag": 90}, "failed", BEHIND),
        ({"lag": 90, "exported": False}, "ok", "AVAILABLE, lag 90 s"),
        (
            {"lifecycle": "MISCONFIGURED"},
            "failed",
            "the data repository of / is MISCONFIGURED (no access to the bucket)",
        ),
        ({"task": "PENDING"}, "failed", "1 data repository tasks run"),
    ],
)
def test_changes_that_wait_are_reported(answers: dict[str, Any], state: str, actual: str) -> None:
    account = StubbedAccount()
    account.answer_stack(STACK)
    answer_lustre(account, **answers)
    (found,) = exports_are_up_to_date(deployment(account))
    assert (found.check, found.state, found.actual) == (f"Lustre exports of {FILE_SYSTEM}", state, actual)


def test_before_the_deployment_there_is_nothing_to_export() -> None:
    account = StubbedAccount()
    account.answer_no_stack()
    (found,) = exports_are_up_to_date(deployment(account))
    assert (found.state, found.actual) == ("skipped", "there is no TrainingClusterStack with a file system yet")


def test_a_file_system_that_the_stack_lost_is_named() -> None:
    account = StubbedAccount()
    account.answer_stack(STACK)
    account.stubs.reject("fsx", "describe_file_systems", "FileSystemNotFound")
    (found,) = exports_are_up_to_date(deployment(account))
    assert (found.state, found.actual) == ("skipped", f"us-west-2 of this account has no {FILE_SYSTEM} (any more)")
