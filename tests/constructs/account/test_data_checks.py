import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account import data_checks
from training_cluster.account.data_checks import data_set_fits_on_lustre, images_are_in_ecr
from training_cluster.account.preflight import Check

DIGEST = f"sha256:{'a' * 64}"
REPOSITORY = "111122223333.dkr.ecr.us-west-2.amazonaws.com/images"
OUTPUTS = {"BucketName": "bucket", "ImageRepositoryUri": REPOSITORY}
GIB = 1024**3


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def record(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist/images.json").write_text(json.dumps({"localhost/training": f"{REPOSITORY}@{DIGEST}"}))


def answer_data_stack(account: StubbedAccount) -> None:
    account.answer_stack(outputs=OUTPUTS, name="TrainingDataStack")


def test_a_recorded_image_is_looked_up_by_its_digest(tmp_path: Path) -> None:
    record(tmp_path)
    account = StubbedAccount()
    details = [{"imageDigest": DIGEST, "imageSizeInBytes": 3 * GIB}]
    expected = {"repositoryName": "images", "imageIds": [{"imageDigest": DIGEST}]}
    account.answer("ecr", "describe_images", {"imageDetails": details}, expected)
    (found,) = images_are_in_ecr(deployment(account))
    assert (found.check, found.state, found.actual) == ("image localhost/training", "ok", "3.0 GiB")


def test_a_recorded_image_that_was_deleted_is_named(tmp_path: Path) -> None:
    record(tmp_path)
    account = StubbedAccount()
    account.stubs.reject("ecr", "describe_images", "ImageNotFoundException")
    (found,) = images_are_in_ecr(deployment(account))
    assert (found.state, found.actual) == ("failed", f"ECR has no images@{DIGEST}")


@pytest.mark.parametrize("pushed", [True, False])
def test_without_a_record_the_repository_has_an_image(pushed: bool) -> None:
    account = StubbedAccount()
    answer_data_stack(account)
    images = [{"imageDigest": DIGEST, "imagePushedAt": datetime(2026, 11, day, tzinfo=UTC)} for day in (3, 2)]
    account.answer("ecr", "describe_images", {"imageDetails": images if pushed else []}, {"repositoryName": "images"})
    (found,) = images_are_in_ecr(deployment(account))
    assert (found.state, found.actual) == (("ok", "pushed 2026-11-03") if pushed else ("failed", "images has no image"))
    assert ("trainctl image push" in found.remedy) is not pushed


@pytest.mark.parametrize("check", [images_are_in_ecr, data_set_fits_on_lustre])
def test_before_the_data_stack_both_are_skipped(check: Check) -> None:
    account = StubbedAccount()
    account.answer_no_stack("TrainingDataStack")
    (found,) = check(deployment(account))
    assert (found.state, found.remedy) == ("skipped", "run 'cdk deploy TrainingDataStack'")
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
    (found,) = data_set_fits_on_lustre(deployment(account))
    assert (found.check, found.state) == ("data set of /", state)
    assert (found.actual, found.needed) == (
        f"2 objects, {gib:,.1f} GiB in s3://bucket/",
        "1 object or more, 1200 GiB or less",
    )


def test_each_linked_prefix_is_read() -> None:
    account = StubbedAccount()
    answer_data_stack(account)
    answer_objects(account, [GIB], "data/")
    answer_objects(account, [], "runs/")
    repositories = [{"path": "/data", "prefix": "data/"}, {"path": "/runs", "prefix": "runs/"}]
    data, runs = data_set_fits_on_lustre(deployment(account, lustre={"data_repositories": repositories}))
    assert (data.state, runs.state) == ("ok", "failed")
    assert runs.remedy == "copy the data set: aws s3 cp --recursive <folder> s3://bucket/runs/"


def test_a_bucket_with_very_many_objects_is_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_checks, "_MOST_PAGES", 2)
    account = StubbedAccount()
    answer_data_stack(account)
    answer_objects(account, [GIB], more=True)
    answer_objects(account, [GIB], more=True)
    (found,) = data_set_fits_on_lustre(deployment(account))
    assert found.actual == "at least 2 objects, 2.0 GiB in s3://bucket/"


def test_without_a_link_there_is_no_data_set() -> None:
    account = StubbedAccount()
    answer_data_stack(account)
    (found,) = data_set_fits_on_lustre(deployment(account, lustre={"data_repositories": []}))
    assert found.state == "skipped"
