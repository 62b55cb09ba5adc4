"""A build in CodeBuild: the folder goes to the bucket, the log comes back, and the image is in the repository."""

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from training_workloads.aws.session import AwsSession, new_tag
from training_workloads.images.build_folder import ImageError, pack

__all__ = ["RemoteBuild", "start_build"]

# Where the project of the data stack reads its source.
_SOURCE: Final = "source.zip"
_PAUSE_SECONDS: Final = 5.0


class RemoteBuild:
    """A build that runs.

    Attributes:
        id: Its id, for `aws codebuild`.
    """

    def __init__(self, session: AwsSession, build_id: str, repository: str, tag: str) -> None:
        self.id = build_id
        self._session, self._repository, self._tag = session, repository, tag
        self._codebuild, self._logs = session.client("codebuild"), session.client("logs")
        self._position: dict[str, str] = {}

    def follow(self, show: Callable[[str], None], pause: Callable[[float], None] = time.sleep) -> str:
        """Show the build's log until it ends, and return the address of the image by its digest.

        Raises:
            ImageError: The build failed.
        """
        while True:
            # The state first: what the log has after the end is still shown.
            build = self._state()
            self._show_log(build, show)
            if build["buildStatus"] != "IN_PROGRESS":
                break
            pause(_PAUSE_SECONDS)
        if build["buildStatus"] != "SUCCEEDED":
            raise ImageError(f"the build {self.id} ended as {build['buildStatus']}{_reason(build)}")
        return self._session.address(self._repository, self._tag)

    def _state(self) -> dict[str, Any]:
        builds: list[dict[str, Any]] = self._codebuild.batch_get_builds(ids=[self.id])["builds"]
        return builds[0]

    def _show_log(self, build: Mapping[str, Any], show: Callable[[str], None]) -> None:
        place = build.get("logs", {})
        # Until the build has a machine there is no log.
        if not place.get("streamName"):
            return
        while True:
            try:
                page = self._logs.get_log_events(
                    logGroupName=place["groupName"],
                    logStreamName=place["streamName"],
                    startFromHead=True,
                    **self._position,
                )
            except self._logs.exceptions.ResourceNotFoundException:
                # A build names its stream before the stream is there.
                return
            for event in page["events"]:
                show(event["message"].rstrip("\n"))
            if self._position.get("nextToken") == page["nextForwardToken"]:
                return
            self._position = {"nextToken": page["nextForwardToken"]}


def start_build(
    session: AwsSession, stack: str, folder: Path, dockerfile: Path, arguments: Mapping[str, str]
) -> RemoteBuild:
    """Upload a folder without the files that its .dockerignore names, and start its build.

    The outputs of the data stack name the bucket of the folders, the project and the repository.
    """
    bucket, project, repository = (
        session.output(stack, name) for name in ("ImageSourceBucket", "ImageBuildProject", "ImageRepositoryUri")
    )
    with tempfile.TemporaryFile() as archive:
        pack(folder, dockerfile, archive)
        archive.seek(0)
        version = session.client("s3").put_object(Bucket=bucket, Key=_SOURCE, Body=archive)["VersionId"]
    tag = new_tag()
    variables = {
        "DOCKERFILE": dockerfile.as_posix(),
        "TAG": tag,
        "BUILD_ARGUMENTS": "\n".join(f"{name}={value}" for name, value in arguments.items()),
    }
    started = session.client("codebuild").start_build(
        projectName=project,
        # The version of this upload, if another follows before the build reads it.
        sourceVersion=version,
        environmentVariablesOverride=[{"name": name, "value": value} for name, value in variables.items()],
    )
    return RemoteBuild(session, started["build"]["id"], repository, tag)


def _reason(build: Mapping[str, Any]) -> str:
    """Return the messages of the phases of a failed build."""
    messages = [
        f"{phase['phaseType']}: {context['message']}"
        for phase in build.get("phases", ())
        for context in phase.get("contexts", ())
        if context.get("message")
    ]
    return f" ({'; '.join(messages)})" if messages else ""
