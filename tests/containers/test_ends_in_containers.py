"""A job that cannot run ends soon, with its reason, and holds no GPUs meanwhile."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.containers.conftest import Phase
from tests.containers.emulated_mpi_job import EmulatedMpiJob
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.recipes import recipe

MakeJob = Callable[[HorovodJobSpec, Path], EmulatedMpiJob]

# As the device plugin's: it lists the GPUs that the pod has.
NVIDIA_SMI = """\
#!/bin/sh
case $1 in
    -L) {listed} ;;
    *) echo '0, 0, No, No' ;;
esac
"""


def digits(name: str, **changes: Any) -> HorovodJobSpec:
    spec = recipe("digits", name)
    assert isinstance(spec, HorovodJobSpec)
    return spec.replaced(**changes)


def test_a_users_mistake_ends_the_job_within_a_minute(job: MakeJob, claim: Callable[[], Path], phase: Phase) -> None:
    spec = digits("mistake")
    wrong = spec.replaced(command=(*spec.command, "--epochs", "0"))
    lustre = claim()
    with phase("a job whose program rejects its options"), job(wrong, lustre) as running:
        running.wait(lambda: running.log().count("error: ") >= 2, 120)
        started = time.monotonic()
        assert not running.run_to_the_end(120)
        took = time.monotonic() - started
        codes = [launcher.exit_code() for launcher in running.launchers]
        logs = [launcher.log() for launcher in running.launchers]
        reasons = {launcher.termination_message() for launcher in running.launchers}
        assert running.workers == [], "cleanPodPolicy is Running: the GPUs are free"
    print(f"ended {took:.0f} s after the mistake")
    assert took < 60
    assert codes == [2, 2, 2]
    (reason,) = reasons
    assert reason == (
        "the ranks ended with exit code 2: '--epochs' is 0; give 1 or more. "
        "A restart would repeat it: cancel the job, fix it, submit it again"
    )
    # The later launchers start no rank.
    assert ["gate: " in log for log in logs] == [True, False, False]
    fixed = spec.replaced(command=("python", "-c", "print('trains')"))
    with phase("the same job, fixed and submitted again"), job(fixed, lustre) as running:
        assert running.run_to_the_end(180)
        assert [launcher.exit_code() for launcher in running.launchers] == [0]
        assert running.log().count(">:trains\n") == 2


def test_a_worker_with_too_few_gpus_is_named(
    job: MakeJob, claim: Callable[[], Path], phase: Phase, tmp_path: Path
) -> None:
    mounts = {}
    for pod, listed in (("gate-worker-0", "echo 'GPU 0: Tesla V100'"), ("gate-worker-1", "echo 'No devices found'")):
        program = tmp_path / pod
        program.write_text(NVIDIA_SMI.format(listed=listed))
        program.chmod(0o755)
        mounts[pod] = {"/usr/bin/nvidia-smi": (program, "ro")}
    prepared = job(digits("gate"), claim())
    prepared.further_mounts.update(mounts)
    with phase("a job with a worker whose GPU is lost"), prepared as running:
        assert not running.run_to_the_end(180)
        reason = running.launchers[0].termination_message()
        log = running.launchers[0].log()
    assert reason.startswith(
        "1 of 2 workers cannot run the job: gate-worker-1: 0 of 1 GPUs: nvidia-smi prints 'No devices found'. replace"
    )
    assert "gate-worker-0" not in reason
    assert "learning rate" not in log


def test_a_worker_that_never_answers_is_named_when_the_time_is_over(
    job: MakeJob, claim: Callable[[], Path], phase: Phase
) -> None:
    prepared = job(digits("missing", start_timeout_seconds=10), claim())
    prepared.room = 1
    with phase("a job with a worker for which no node has room"), prepared as running:
        running.wait(lambda: running.launchers[0].exit_code() is not None, 120)
        started = time.monotonic()
        assert not running.run_to_the_end(120)
        took = time.monotonic() - started
        codes = [launcher.exit_code() for launcher in running.launchers]
        reason = running.launchers[-1].termination_message()
    # The later launchers do not wait once more.
    print(f"ended {took:.0f} s after the first launcher")
    assert codes == [1, 1, 1]
    assert reason.startswith(
        "1 of 2 workers did not answer within 10 s: missing-worker-1: its name does not resolve. Check with"
    )


@pytest.mark.parametrize("gate", [True, False])
def test_the_gate_is_an_option(gate: bool, job: MakeJob, claim: Callable[[], Path], phase: Phase) -> None:
    spec = digits("option", gate=gate, command=("python", "-c", "print('trains')"))
    with phase(f"a job with{'' if gate else 'out'} the gate"), job(spec, claim()) as running:
        assert running.run_to_the_end(120)
        lines = [line for line in running.log().splitlines() if line.startswith("gate: ")]
    if gate:
        note, passed = lines
        assert note == "gate: the image has no CUDA, so the ranks compute on the CPU: the GPUs are not checked"
        assert passed.startswith("gate: 2 of 2 workers can run the job (checked in ")
    else:
        assert lines == []
