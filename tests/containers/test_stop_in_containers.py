"""Kubernetes deletes a worker or the launcher: the ranks save their state, and the next start resumes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.containers.conftest import Phase
from tests.containers.emulated_mpi_job import EmulatedMpiJob
from tests.containers.emulated_pod import Pod
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.recipes import recipe

# Records its signal; the other rank sees the file. Each needs a second to save its state.
RANK = """
import os, signal, sys, time
from pathlib import Path
folder, rank = Path("/fsx/runs"), os.environ["OMPI_COMM_WORLD_RANK"]

def save(number=None, _=None):
    (folder / "stop-request").touch()
    time.sleep(1)
    (folder / f"saved-{rank}").write_text(signal.Signals(number).name if number else "file")
    while len(list(folder.glob("saved-*"))) < 2:
        time.sleep(0.05)
    sys.exit(75)

for number in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, save)
if (folder / f"saved-{rank}").exists():
    print("resumes", flush=True)
    sys.exit(0)
print("trains", flush=True)
while not (folder / "stop-request").exists():
    time.sleep(0.05)
save()
"""


@pytest.mark.parametrize(
    ("role", "saved", "codes"),
    [
        ("worker", {"saved-0": "file", "saved-1": "SIGTERM"}, [0]),
        ("launcher", {"saved-0": "SIGUSR1", "saved-1": "SIGUSR1"}, [75, 0]),
    ],
)
def test_ranks_save_before_a_pod_ends_and_the_next_start_resumes(
    role: str,
    saved: dict[str, str],
    codes: list[int],
    job: Callable[[HorovodJobSpec, Path], EmulatedMpiJob],
    claim: Callable[[], Path],
    phase: Phase,
) -> None:
    lustre = claim()
    spec = recipe("digits", "stop", command=("python", "-c", RANK))
    assert isinstance(spec, HorovodJobSpec)
    with phase(f"a job whose {role} is deleted"), job(spec, lustre) as running:
        running.wait(lambda: running.log().count("trains") == 2, 120)
        leaving: Pod = running.workers[1] if role == "worker" else running.launchers[0]
        leaving.stop()
        running.wait(lambda: running.log().count("resumes") == 2, 120)
        assert {path.name: path.read_text() for path in (lustre / "runs").glob("saved-*")} == saved
        assert running.run_to_the_end(120)
    assert [launcher.exit_code() for launcher in running.launchers] == codes
    if role == "worker":
        # The launcher stays, and starts the ranks again.
        assert "the ranks ended with exit code 75" in running.log()
        assert "stop request: sends SIGTERM to its ranks (1) and waits for them" in leaving.log()
