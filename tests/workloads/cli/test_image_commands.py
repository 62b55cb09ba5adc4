"""Docker and Podman are stand-ins on the PATH that write down their words."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from tests.workloads.aws.stubbed_session import DIGEST, PASSWORD, REPOSITORY, StubbedSession
from tests.workloads.cli.conftest import Command
from training_workloads.cli import image_commands
from training_workloads.images import container_engine
from training_workloads.validation import InputError

Engine = Callable[..., Path]
PUSHED = f"{REPOSITORY}@{DIGEST}"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Return a function that installs an engine, whose `failing` command ends with 1."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))

    def install(name: str, failing: str = "none") -> Path:
        calls = tmp_path / f"{name}.calls"
        script = f'#!/bin/sh\necho "$*" >> {calls}\n[ "$1" != login ] || /bin/cat >> {calls}\n'
        script += f'[ "$1" != {failing} ] || {{ echo "{name} says no" >&2; exit 1; }}\n'
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
        return calls

    return install


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/Dockerfile").write_text("FROM scratch\n")
    return tmp_path / "project"


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> StubbedSession:
    stubbed = StubbedSession()
    monkeypatch.setattr(image_commands, "AwsSession", lambda: stubbed)
    monkeypatch.setattr(image_commands, "new_tag", lambda: "tag")
    return stubbed


def test_builds_a_project_with_docker(command: Command, engine: Engine, project: Path) -> None:
    calls = engine("docker")
    engine("podman")
    code, output, errors = command("image", "build", "project", "--build-arg=A=1 2")
    assert (code, output, errors) == (0, "", "built localhost/project:latest; next: trainctl image push\n")
    words = "build --file project/Dockerfile --tag localhost/project:latest --build-arg A=1 2 project"
    assert calls.read_text() == f"version\n{words}\n"


def test_podman_builds_where_docker_has_no_daemon(command: Command, engine: Engine, project: Path) -> None:
    engine("docker", failing="version")
    calls = engine("podman")
    (project / ".dockerignore").write_text("runs\n")
    assert command("image", "build", "project", "--image=localhost/mine:1").code == 0
    words = "build --file project/Dockerfile --tag localhost/mine:1 --ignorefile project/.dockerignore project"
    assert calls.read_text() == f"version\n{words}\n"


def test_the_next_command_names_an_image_of_another_dockerfile(command: Command, engine: Engine, project: Path) -> None:
    calls = engine("docker")
    (project / "torch.Dockerfile").write_text("FROM scratch\n")
    code, _, errors = command("image", "build", "project", "--dockerfile=torch.Dockerfile")
    name = "localhost/project-torch:latest"
    assert (code, errors) == (0, f"built {name}; next: trainctl image push --image {name}\n")
    assert calls.read_text().endswith(f"build --file project/torch.Dockerfile --tag {name} project\n")


def test_podman_builds_where_dockers_daemon_hangs(
    command: Command, engine: Engine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine("docker").with_name("bin").joinpath("docker").write_text("#!/bin/sh\nexec /bin/sleep 50\n")
    calls = engine("podman")
    monkeypatch.setattr(container_engine, "_ANSWER_SECONDS", 0.5)
    assert command("image", "build", "project").code == 0
    assert calls.read_text().startswith("version\nbuild ")


def test_without_an_engine_it_names_what_to_do(command: Command, engine: Engine, project: Path) -> None:
    error = (
        "error: '--engine' is missing, but docker and podman are not on the PATH; install one, or give 'codebuild' to "
    )
    assert command("image", "build", "project").err == f"{error}build in AWS\n"
    assert (
        "'--engine' is 'podman', but it is not on the PATH"
        in command("image", "build", "project", "--engine=podman").err
    )
    engine("docker", failing="version")
    code, _, errors = command("image", "build", "project")
    assert (code, "docker does not answer: docker says no; start it" in errors) == (2, True)
    assert "give one of docker, podman, codebuild" in command("image", "build", "project", "--engine=kaniko").err


def test_a_push_without_an_engine_does_not_name_what_it_rejects(command: Command, engine: Engine) -> None:
    assert command("image", "push").err == (
        "error: '--engine' is missing, but docker and podman are not on the PATH; install one\n"
    )
    engine("docker", failing="version")
    assert command("image", "push", "--engine=docker").err.endswith("docker says no; start it\n")


def test_a_build_that_fails_ends_with_3(command: Command, engine: Engine, project: Path) -> None:
    engine("docker", failing="build")
    code, _, errors = command("image", "build", "project")
    assert (code, errors) == (3, "error: 'docker build' ended with 1; its own message is above\n")


def test_pushes_by_digest_and_jobs_use_it(
    tmp_path: Path, command: Command, engine: Engine, session: StubbedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = os.environ["PATH"]
    calls = engine("podman")
    session.answer_stack()
    session.answer_push("tag")
    code, output, errors = command("image", "push", "--image=localhost/training:latest")
    assert (code, output) == (0, f"{PUSHED}\n")
    assert errors == (
        "recorded in dist/images.json: 'trainctl render' gives jobs this image for localhost/training:latest\n"
    )
    registry = REPOSITORY.partition("/")[0]
    assert calls.read_text().splitlines() == [
        "version",
        "image inspect localhost/training:latest",
        f"login --username AWS --password-stdin {registry}",
        f"{PASSWORD}tag localhost/training:latest {REPOSITORY}:tag",
        f"push {REPOSITORY}:tag",
    ]
    session.all_asked()
    assert json.loads((tmp_path / "dist/images.json").read_text()) == {"localhost/training:latest": PUSHED}
    monkeypatch.setenv("PATH", f"{path}:/usr/local/bin:/usr/bin:/bin")
    code, _, errors = command("render", "digits")
    assert (code, errors) == (0, f"the image is {PUSHED}, by dist/images.json\n")
    assert f"image: {PUSHED}" in (tmp_path / "dist/jobs/digits.k8s.yaml").read_text()
    command("render", "digits", "--image=other:1")
    assert "image: other:1" in (tmp_path / "dist/jobs/digits.k8s.yaml").read_text()


def test_a_damaged_record_is_named(tmp_path: Path, command: Command) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist/images.json").write_text("[]")
    code, _, errors = command("render", "digits")
    assert code == 2
    assert errors.startswith("error: dist/images.json: no object of JSON (")
    assert errors.endswith("; remove it, and push the image again\n")


def test_an_image_that_was_not_built_is_named(command: Command, engine: Engine, session: StubbedSession) -> None:
    engine("docker", failing="image")
    code, _, errors = command("image", "push", "--image=localhost/new:latest")
    assert (code, errors) == (
        2,
        "error: '--image' is 'localhost/new:latest', but docker does not have it; build it with 'trainctl image "
        "build', or give the name of another\n",
    )


def test_a_registry_that_rejects_the_login_ends_with_3(
    command: Command, engine: Engine, session: StubbedSession
) -> None:
    engine("docker", failing="login")
    session.answer_push("tag")
    code, _, errors = command("image", "push", f"--repository={REPOSITORY}", "--image=localhost/a:latest")
    assert (code, errors) == (3, "error: 'docker login' ended with 1; its own message is above\n")


def test_codebuild_needs_no_engine_and_records_the_digest(
    tmp_path: Path, command: Command, project: Path, session: StubbedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training_workloads.images.code_build.new_tag", lambda: "tag")
    for _ in range(3):
        session.answer_stack()
    session.answer("s3", "put_object", {"VersionId": "v1"})
    session.answer("codebuild", "start_build", {"build": {"id": "project:1"}})
    session.answer("codebuild", "batch_get_builds", {"builds": [{"id": "project:1", "buildStatus": "SUCCEEDED"}]})
    session.answer_digest("tag")
    code, output, errors = command("image", "build", "project", "--engine=codebuild")
    assert (code, output) == (0, f"{PUSHED}\n")
    assert errors.startswith("started project:1\nrecorded in dist/images.json")
    session.all_asked()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ConnectionError])
def test_ctrl_c_or_an_error_names_the_build_that_continues(
    project: Path,
    session: StubbedSession,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: type[BaseException],
) -> None:
    class Interrupted:
        id = "project:1"

        def follow(self, show: object) -> str:
            raise error

    monkeypatch.setattr(image_commands, "start_build", lambda *_: Interrupted())
    with pytest.raises(error):
        click.Context(image_commands.build).invoke(image_commands.build, folder=str(project), engine="codebuild")
    assert "the build continues; 'aws codebuild stop-build --id project:1' ends it" in capsys.readouterr().err


def test_a_record_that_is_damaged_does_not_lose_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dist").mkdir(exist_ok=True)
    (tmp_path / "dist/images.json").write_text("[]")
    with pytest.raises(InputError):
        image_commands._pushed("localhost/training", PUSHED)
    assert capsys.readouterr().out == f"{PUSHED}\n"
