import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account.image_checks import images_are_in_ecr

GIB = 1024**3
DIGEST = f"sha256:{'a' * 64}"
REPOSITORY = "111122223333.dkr.ecr.us-west-2.amazonaws.com/images"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def record(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist/images.json").write_text(json.dumps({"localhost/training": f"{REPOSITORY}@{DIGEST}"}))


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
    account.answer_stack(outputs={"ImageRepositoryUri": REPOSITORY}, name="TrainingDataStack")
    images = [{"imageDigest": DIGEST, "imagePushedAt": datetime(2026, 11, day, tzinfo=UTC)} for day in (3, 2)]
    account.answer("ecr", "describe_images", {"imageDetails": images if pushed else []}, {"repositoryName": "images"})
    (found,) = images_are_in_ecr(deployment(account))
    assert (found.state, found.actual) == (("ok", "pushed 2026-11-03") if pushed else ("failed", "images has no image"))
    assert ("trainctl image push" in found.remedy) is not pushed


def test_before_the_data_stack_there_is_no_repository() -> None:
    account = StubbedAccount()
    account.answer_no_stack("TrainingDataStack")
    (found,) = images_are_in_ecr(deployment(account))
    assert (found.check, found.state, found.remedy) == ("image", "skipped", "run 'cdk deploy TrainingDataStack'")
    assert found.actual == "there is no TrainingDataStack with it in us-west-2 yet"
