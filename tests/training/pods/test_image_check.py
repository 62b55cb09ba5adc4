"""The checks at the end of an image's build; tests/containers/test_gpu_image.py has them on an image for GPUs."""

import ctypes
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from training.pods import device_checks, image_check, image_parts

BUILT = {"MPI": 1, "Gloo": 1, "NCCL": 0}


def test_horovod_here_has_what_ranks_on_the_cpu_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert image_check.main(tmp_path) == 0


@pytest.mark.parametrize("missing", ["MPI", "Gloo"])
def test_horovod_without_a_controller_is_a_problem(missing: str) -> None:
    assert list(image_check.horovod(BUILT)) == []
    assert list(image_check.horovod(BUILT | {missing: 0})) == [
        f"Horovod was built without {missing}; its build's log says why"
    ]


def test_an_image_with_cuda_and_a_horovod_without_nccl_is_a_problem() -> None:
    (problem,) = image_check.nccl(0, 21903)
    assert problem == "Horovod was built without NCCL, although the base has CUDA: the ranks would reduce on the CPU"


@pytest.mark.parametrize(
    ("built", "loaded", "problems"),
    [
        (21903, 21903, []),
        (21805, 21805, []),
        (21605, 21903, ["Horovod was built with NCCL 2.16.5; P5 and the EFA plugin need 2.18.5 or newer"]),
        (21903, 21605, ["the image loads NCCL 2.16.5; P5 and the EFA plugin need 2.18.5 or newer"]),
    ],
)
def test_nccl_is_new_enough_for_p5_and_the_plugin(built: int, loaded: int, problems: list[str]) -> None:
    assert list(image_check.nccl(built, loaded)) == problems


def test_the_version_is_that_of_the_library_that_is_loaded(tmp_path: Path) -> None:
    source, library = tmp_path / "nccl.c", tmp_path / "libnccl.so.2"
    source.write_text("int ncclGetVersion(int *version) { *version = 21605; return 0; }")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    assert image_check.version_of(str(library)) == 21605
    assert image_check.version_of(str(tmp_path / "libnccl.so.3")) == 0


def test_libraries_that_only_a_gpu_needs_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever this machine has.
    def fail(name: str) -> None:
        raise OSError(f"{name}: not there")

    monkeypatch.setattr(ctypes, "CDLL", fail)
    monkeypatch.setenv("PATH", "/nowhere")
    *libraries, compiler = image_check.cuda()
    assert len(libraries) == 7
    assert libraries[3].startswith("TensorFlow cannot open libcudnn.so.8: ")
    assert compiler == "XLA finds no ptxas on the PATH; take a 'devel' base"


def test_each_problem_is_a_line_and_the_build_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = tmp_path / "usr/local/cuda/lib64/libcudart.so.12"
    library.parent.mkdir(parents=True)
    library.touch()
    assert image_check.main(tmp_path) == 1
    errors = capsys.readouterr().err.splitlines()
    assert errors[0].startswith("error: Horovod was built without NCCL")
    assert all(line.startswith("error: ") for line in errors)


def test_an_image_with_cuda_and_efa_gets_all_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(problem: str) -> Callable[..., Iterator[str]]:
        return lambda *_: iter([problem])

    for module, name in ((image_check, "nccl"), (image_check, "cuda"), (image_parts, "one_nccl")):
        monkeypatch.setattr(module, name, check(name))
    monkeypatch.setattr(device_checks, "efa_plugin", check("plugin"))
    (tmp_path / "opt/amazon/efa").mkdir(parents=True)
    assert image_check.main(tmp_path) == 1
    assert capsys.readouterr().err == "error: plugin\n"
    library = tmp_path / "usr/local/cuda/lib64/libcudart.so.12"
    library.parent.mkdir(parents=True)
    library.touch()
    assert image_check.main(tmp_path) == 1
    assert capsys.readouterr().err == "error: nccl\nerror: cuda\nerror: one_nccl\nerror: plugin\n"
