"""No manifest is half-written; tests/workloads/cli has the options."""

import errno
from pathlib import Path

import cdk8s
import pytest

from training_workloads.jobs.constructs import define_job
from training_workloads.lint import lint_manifest
from training_workloads.recipes import recipe
from training_workloads.rendering import render_jobs
from training_workloads.validation import InputError


def render(folder: Path) -> None:
    render_jobs([recipe("digits")], folder)


def test_a_manifest_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    (tmp_path / "digits.k8s.yaml").write_text("old")
    (tmp_path / "mine.k8s.yaml").write_text("mine")
    render(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["digits.k8s.yaml", "mine.k8s.yaml"]
    assert "kind: MPIJob" in (tmp_path / "digits.k8s.yaml").read_text()


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), RuntimeError("of JavaScript")])
def test_a_manifest_is_never_half_written(
    failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def synth(app: cdk8s.App) -> None:
        Path(app.outdir).mkdir()
        Path(app.outdir, "digits.k8s.yaml").write_text("half")
        raise failure

    (tmp_path / "digits.k8s.yaml").write_text("old")
    monkeypatch.setattr(cdk8s.App, "synth", synth)
    with pytest.raises(type(failure)):
        render(tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("digits.k8s.yaml", "old")]


def test_an_error_of_node_js_before_it_writes_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def synth(app: cdk8s.App) -> None:
        raise RuntimeError("it has ended")

    monkeypatch.setattr(cdk8s.App, "synth", synth)
    with pytest.raises(RuntimeError, match="it has ended"):
        render(tmp_path)


def test_a_disk_that_gets_full_is_an_error_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def synth(app: cdk8s.App) -> None:
        def full(folder: Path) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("training_workloads.rendering._probe", full)
        raise RuntimeError("ENOSPC, as text of JavaScript")

    monkeypatch.setattr(cdk8s.App, "synth", synth)
    with pytest.raises(OSError, match="No space left on device") as caught:
        render(tmp_path)
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_rejects_a_file_in_the_place_of_the_folder(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        InputError, match=r"^'outdir' is '.*', but (it is a file|nothing can be written there \(Not a d)"
    ):
        render(tmp_path / place)


def test_rejects_a_folder_in_the_place_of_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "digits.k8s.yaml").mkdir()
    with pytest.raises(InputError, match=r"but digits.k8s.yaml in it is a folder; remove that"):
        render(tmp_path)


def test_an_error_of_the_lint_is_a_problem_with_its_path_and_value(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        render_jobs([recipe("digits", environment={"NCCL_SOCKET_IFNAME": "ib0"})], tmp_path)
    (problem,) = caught.value.problems
    launcher = ("spec", "mpiReplicaSpecs", "Launcher", "template", "spec", "containers", 0)
    assert (problem.path[:7], problem.given) == (launcher, {"name": "NCCL_SOCKET_IFNAME", "value": "ib0"})
    assert problem.allowed.startswith("the lint reports host-network-interface: sets NCCL_SOCKET_IFNAME=ib0")
    assert list(tmp_path.iterdir()) == []


def test_a_construct_does_not_run_the_lint() -> None:
    chart = cdk8s.Testing.chart()
    define_job(chart, "Job", spec=recipe("digits", environment={"NCCL_SOCKET_IFNAME": "ib0"}))
    errors = [finding for finding in lint_manifest(cdk8s.Testing.synth(chart)[0]) if finding.level == "error"]
    assert {finding.rule for finding in errors} == {"host-network-interface"}
