"""The check at the end of the build of the image with PyTorch; tests/containers/torch_image.py has it on the image."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from training.pods import device_checks, image_parts
from training.torch_imagenet import torch_image_check


@pytest.fixture
def _torchrun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin/torchrun"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(program.parent))


@pytest.mark.usefixtures("_torchrun")
def test_the_lock_has_what_ranks_need(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert torch_image_check.main(tmp_path) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("problems", "message"),
    [
        (torch_image_check.backends({"Gloo": True, "NCCL": False}), "PyTorch was built without NCCL; take its wheel"),
        (torch_image_check.machine_code(""), "PyTorch has no code for GPUs; take its wheel for CUDA"),
        (torch_image_check.extension(False), "torchvision does not fit PyTorch; take both from one lock"),
        (torch_image_check.programs(["no-such-program"]), "no-such-program is not on the PATH"),
    ],
)
def test_what_is_missing_is_a_problem(problems: Iterator[str], message: str) -> None:
    (problem,) = problems
    assert problem.startswith(message)


def test_nccl_is_compared_by_its_own_number() -> None:
    assert torch_image_check.nccl_number((2, 18, 5)) == 21805
    assert list(image_parts.new_enough(torch_image_check.nccl_number((2, 30, 7)), "it has")) == []


@pytest.mark.usefixtures("_torchrun")
def test_an_image_with_efa_needs_its_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(problem: str) -> Callable[..., Iterator[str]]:
        return lambda *_: iter([problem])

    monkeypatch.setattr(device_checks, "efa_plugin", check("plugin"))
    monkeypatch.setattr(image_parts, "one_nccl", check("two"))
    (tmp_path / "opt/amazon/efa").mkdir(parents=True)
    assert torch_image_check.main(tmp_path) == 1
    assert capsys.readouterr().err == "error: two\nerror: plugin\n"
