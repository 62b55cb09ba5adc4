from typing import Any

import pytest

from tests.constructs.account.lustre_answers import FILE_SYSTEM, answer_lustre
from tests.constructs.account.stubbed_account import EXISTING_LUSTRE, EXISTING_VPC, StubbedAccount, deployment
from training_cluster.account import lustre_checks
from training_cluster.account.lustre_checks import data_set_fits_on_lustre, exports_are_up_to_date
from training_cluster.account.lustre_state import NO_LAG

GIB = 1024**3
STACK = {"Lustre": ("AWS::FSx::FileSystem", FILE_SYSTEM)}
BEHIND = "the oldest change waits for its export for 90 s"


def answer_data_stack(account: StubbedAccount) -> None:
    account.answer_stack(outputs={"BucketName": "bucket"}, name="TrainingDataStack")


def test_before_the_data_stack_there_is_no_bucket() -> None:
    account = StubbedAccount()
    account.answer_no_stack("TrainingDataStack")
    (found,) = data_set_fits_on_lustre(deployment(account))
    assert (found.check, found.state, found.remedy) == ("data set", "skipped", "run 'cdk deploy TrainingDataStack'")
    assert found.actual == "there is no TrainingDataStack with it in us-west-2 yet"


def answer_objects(account: StubbedAccount, sizes: list[int], prefix: str = "", *, more: bool = False) -> None:
    contents = {"Contents": [{"Key": f"{number}", "Size": size} for number, size in enumerate(sizes)]} if sizes else {}
    token = {"NextContinuationToken": "more"} if more else {}
    response = {**contents, "IsTruncated": more, **token}
    account.answer("s3", "list_objects_v2", response, None if more else {"Bucket": "bucket", "Prefix": prefix})


@pytest.mark.parametrize(("gib", "state"), [(1200, "ok"), (1201, "failed")])
def test_the_data_set_must_fit_as_a_whole(gib: int, state: str) -> None:
    account = StubbedAccount()
    answer_data_stack(account)
    answer_objects(account, [1000 * GIB, (gib - 1000) * GIB])
    found, size = data_set_fits_on_lustre(deployment(account))
    assert (found.check, found.state, found.needed) == ("data set of /", "ok", "1 object or more")
    assert found.actual == f"2 objects, {gib:,.1f} GiB in s3://bucket/"
    assert (size.check, size.state) == ("size of the data set", state)
    assert (size.actual, size.needed) == (f"{gib:,.1f} GiB in /", "1200 GiB or less")
    remedy = "raise lustre.capacity_gib, or link longer prefixes"
    assert size.remedy == ("" if state == "ok" else remedy)


@pytest.mark.parametrize(("gib", "state"), [(200, "ok"), (201, "failed")])
def test_the_prefixes_must_fit_together(gib: int, state: str) -> None:
    account = StubbedAccount()
    answer_data_stack(account)
    answer_objects(account, [1000 * GIB], "data/")
    answer_objects(account, [gib * GIB], "more/")
    repositories = [{"path": "/data", "prefix": "data/"}, {"path": "/more", "prefix": "more/"}]
    found = list(data_set_fits_on_lustre(deployment(account, lustre={"data_repositories": repositories})))
    assert [each.state for each in found] == ["ok", "ok", state]
    assert found[2].actual == f"{1000 + gib:,}.0 GiB in /data, /more"


def test_each_linked_prefix_is_read() -> None:
    account = StubbedAccount()
    answer_data_stack(account)
    answer_objects(account, [GIB], "data/")
    answer_objects(account, [], "runs/")
    repositories = [{"path": "/data", "prefix": "data/"}, {"path": "/runs", "prefix": "runs/"}]
    data, runs, size = data_set_fits_on_lustre(deployment(account, lustre={"data_repositories": repositories}))
    assert (data.state, runs.state, size.state) == ("ok", "failed", "ok")
    assert runs.remedy == "copy the data set: aws s3 cp --recursive <folder> s3://bucket/runs/"


def test_a_bucket_with_very_many_objects_is_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lustre_checks, "_MOST_PAGES", 2)
    account = StubbedAccount()
    answer_data_stack(account)
    answer_objects(account, [GIB], more=True)
    answer_objects(account, [GIB], more=True)
    found, size = data_set_fits_on_lustre(deployment(account))
    assert size.actual == "at least 2.0 GiB in /"
    assert found.actual == "at least 2 objects, 2.0 GiB in s3://bucket/"


def test_without_a_link_there_is_no_data_set() -> None:
    account = StubbedAccount()
    answer_data_stack(account)
    (found,) = data_set_fits_on_lustre(deployment(account, lustre={"data_repositories": []}))
    assert found.state == "skipped"


def existing(account: StubbedAccount, **values: Any) -> list[Any]:
    found = deployment(account, existing_vpc=EXISTING_VPC, existing_lustre=EXISTING_LUSTRE, **values)
    return list(data_set_fits_on_lustre(found))


@pytest.mark.parametrize(("gib", "state"), [(2400, "ok"), (2401, "failed")])
def test_an_existing_file_system_has_its_links_and_its_size(gib: int, state: str) -> None:
    account = StubbedAccount()
    account.answer_existing_lustre()
    links = [{"DataRepositoryPath": "s3://theirs/data/", "FileSystemPath": "/data"}]
    account.answer("fsx", "describe_data_repository_associations", {"Associations": links})
    page = {"Contents": [{"Key": "a", "Size": gib * GIB}], "IsTruncated": False}
    account.answer("s3", "list_objects_v2", page, {"Bucket": "theirs", "Prefix": "data/"})
    found, size = existing(account)
    assert (found.check, found.state) == ("data set of /data", "ok")
    assert (size.check, size.state, size.needed) == ("size of the data set", state, "2400 GiB or less")
    assert size.remedy == ("" if state == "ok" else "enlarge the file system, or link longer prefixes")


def test_an_existing_file_system_without_links_has_no_data_set() -> None:
    account = StubbedAccount()
    account.answer_existing_lustre()
    account.answer("fsx", "describe_data_repository_associations", {"Associations": []})
    (found,) = existing(account)
    assert (found.state, found.actual) == (
        "skipped",
        "the file system has no data repository: nothing of a bucket appears in it",
    )


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
