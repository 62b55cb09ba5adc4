from tests.constructs.account.lustre_answers import FILE_SYSTEM, answer_lustre
from tests.constructs.account.stubbed_account import StubbedAccount
from training_cluster.account.lustre_state import read_lustre

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
