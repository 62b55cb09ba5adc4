import io
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from botocore.stub import ANY

from tests.workloads.aws.stubbed_session import DIGEST, REPOSITORY, StubbedSession
from training_workloads.images import code_build
from training_workloads.images.build_folder import ImageError
from training_workloads.images.code_build import RemoteBuild, start_build

LOGS = {"groupName": "group", "streamName": "stream"}


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> StubbedSession:
    monkeypatch.setattr(code_build, "new_tag", lambda: "tag")
    return StubbedSession()


def state(session: StubbedSession, status: str, **more: Any) -> None:
    build = {"id": "project:1", "buildStatus": status, **more}
    session.answer("codebuild", "batch_get_builds", {"builds": [build]}, {"ids": ["project:1"]})


def page(session: StubbedSession, lines: list[str], after: str | None, token: str) -> None:
    expected = {"logGroupName": "group", "logStreamName": "stream", "startFromHead": True}
    expected |= {"nextToken": after} if after else {}
    events = [{"timestamp": 0, "message": f"{line}\n", "ingestionTime": 0} for line in lines]
    session.answer("logs", "get_log_events", {"events": events, "nextForwardToken": token}, expected)


def test_the_folder_is_uploaded_and_that_version_built(tmp_path: Path, session: StubbedSession) -> None:
    for name in ("Dockerfile", "train.py"):
        (tmp_path / name).write_text(name)
    for _ in range(3):
        session.answer_stack()
    uploaded: list[bytes] = []
    session.client("s3").meta.events.register(
        "before-parameter-build.s3.PutObject", lambda params, **_: uploaded.append(params["Body"].read())
    )
    session.answer("s3", "put_object", {"VersionId": "v1"}, {"Bucket": "sources", "Key": "source.zip", "Body": ANY})
    variables = {"DOCKERFILE": "Dockerfile", "TAG": "tag", "BUILD_ARGUMENTS": "A=1\nB=two words"}
    expected = {
        "projectName": "project",
        "sourceVersion": "v1",
        "environmentVariablesOverride": [{"name": name, "value": value} for name, value in variables.items()],
    }
    session.answer("codebuild", "start_build", {"build": {"id": "project:1"}}, expected)
    arguments = {"A": "1", "B": "two words"}
    build = start_build(session, "TrainingDataStack", tmp_path, Path("Dockerfile"), arguments)
    assert build.id == "project:1"
    assert ZipFile(io.BytesIO(uploaded[0])).namelist() == ["Dockerfile", "train.py"]
    session.all_asked()


def test_the_log_is_shown_once_and_the_end_is_the_digest(session: StubbedSession) -> None:
    state(session, "IN_PROGRESS")
    state(session, "IN_PROGRESS", logs=LOGS)
    page(session, ["one", "two"], None, "t1")
    page(session, [], "t1", "t1")
    state(session, "SUCCEEDED", logs=LOGS)
    page(session, ["three"], "t1", "t2")
    page(session, [], "t2", "t2")
    session.answer_digest("tag")
    shown: list[str] = []
    pauses: list[float] = []
    address = RemoteBuild(session, "project:1", REPOSITORY, "tag").follow(shown.append, pauses.append)
    assert address == f"{REPOSITORY}@{DIGEST}"
    assert shown == ["one", "two", "three"]
    assert pauses == [5.0, 5.0]
    session.all_asked()


def test_a_failed_build_has_the_words_of_its_phases(session: StubbedSession) -> None:
    phases = [
        {"phaseType": "PRE_BUILD", "contexts": [{"message": ""}]},
        {"phaseType": "BUILD", "contexts": [{"statusCode": "COMMAND_EXECUTION_ERROR", "message": "exit status 1"}]},
    ]
    state(session, "FAILED", phases=phases)
    with pytest.raises(ImageError, match=r"the build project:1 ended as FAILED \(BUILD: exit status 1\)"):
        RemoteBuild(session, "project:1", REPOSITORY, "tag").follow(print)


def test_a_stream_that_is_named_but_not_there_yet_is_waited_for(session: StubbedSession) -> None:
    state(session, "IN_PROGRESS", logs=LOGS)
    session.reject("logs", "get_log_events", "ResourceNotFoundException", "The specified log stream does not exist.")
    state(session, "SUCCEEDED", logs=LOGS)
    page(session, ["one"], None, "t1")
    page(session, [], "t1", "t1")
    session.answer_digest("tag")
    shown: list[str] = []
    RemoteBuild(session, "project:1", REPOSITORY, "tag").follow(shown.append, lambda _: None)
    assert shown == ["one"]
    session.all_asked()
