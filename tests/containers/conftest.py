"""The image and the jobs, each built once and timed."""

import fcntl
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import yaml

from tests.containers import podman as podman_module
from tests.containers import training_image
from tests.containers.emulated_mpi_job import EmulatedMpiJob
from tests.containers.podman import Podman
from training_workloads import HorovodJobSpec
from training_workloads.jobs.volumes import LUSTRE_CLAIM, SHARED_DIRECTORIES
from training_workloads.mpijob.api import KIND
from training_workloads.mpijob.programs import LOCAL_IMAGE, UID
from training_workloads.rendering import render_jobs

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".setup/containers"

Phase = Callable[[str], AbstractContextManager[None]]


@pytest.fixture(scope="session")
def phase(pytestconfig: pytest.Config) -> Phase:
    """Print each phase and its seconds on the terminal: a phase takes minutes."""
    capture = pytestconfig.pluginmanager.get_plugin("capturemanager")
    assert capture

    def say(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n==> {text}", flush=True)

    @contextmanager
    def timed(what: str) -> Iterator[None]:
        say(what)
        started = time.monotonic()
        yield
        say(f"{what}: took {time.monotonic() - started:.0f} s")

    return timed


@pytest.fixture(scope="session")
def podman() -> Iterator[Podman]:
    """Return Podman without containers of an earlier session, and remove those of this one."""
    if reason := podman_module.why_not():
        pytest.skip(f"no containers on this machine: {reason}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pytest.fail("another session runs these tests in this folder; wait until it ends")
        podman = Podman(FOLDER)
        podman.clear()
        yield podman
        podman.clear()


@pytest.fixture(scope="session")
def image(podman: Podman, phase: Phase) -> str:
    """Build the training image, with its name in the recipes."""
    with phase("the base image: a minimal Debian 12"):
        training_image.make_base(podman)
    with phase(f"the training image (its log is {FOLDER.relative_to(ROOT)}/build.log)"):
        training_image.build(podman, ROOT, LOCAL_IMAGE)
    return LOCAL_IMAGE


@pytest.fixture(scope="session")
def claim(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Return a function that creates a folder like a new file system after the ownership job."""

    def make() -> Path:
        folder = tmp_path_factory.mktemp("lustre")
        folder.chmod(0o755)
        for name in SHARED_DIRECTORIES:
            (folder / name).mkdir()
            shutil.chown(folder / name, UID, UID)
        return folder

    return make


@pytest.fixture(scope="session")
def job(podman: Podman, image: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., EmulatedMpiJob]:
    """Return a function that emulates the job of a spec, from its rendered manifest."""

    def make(spec: HorovodJobSpec, lustre: Path) -> EmulatedMpiJob:
        assert spec.image == image
        folder = tmp_path_factory.mktemp(spec.name)
        render_jobs([spec], folder / "dist")
        documents = yaml.safe_load_all((folder / "dist" / f"{spec.name}.k8s.yaml").read_text())
        (manifest,) = (document for document in documents if document["kind"] == KIND)
        return EmulatedMpiJob(podman, manifest, {LUSTRE_CLAIM: lustre}, folder)

    return make
