"""Two nodes of a real torchrun, started with the words of a TorchElasticJob: a node is lost and back, the store too.

Nodes and store are pods, as `pod_processes` has them; a failed one is started again by the test, as by Kubernetes.
"""

import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.faults.disturbed_programs import CHECKPOINT_STEPS, TORCH_IMAGENET, torchrun
from tests.faults.launched import Launched
from tests.training.mpirun import ROOT
from tests.training.torch_imagenet.long_runs import pod_processes
from tests.training.torch_imagenet.long_runs.pod_processes import Pods, Start
from tests.training.torch_imagenet.rendered_words import STORE, Words, rendered
from training.runtime import checkpoint
from training.runtime.checkpoint import Checkpoint
from training.runtime.rank_checkpoint import FOLDER

WORKERS = ("worker-0", "worker-1")
ETCD = ROOT / ".setup/etcd/root"

# Long steps, in which a node is lost and started again; and short ones for the rest.
SLOW, FAST = {"FAULTS_PAUSE": "0.5"}, {"FAULTS_PAUSE": "0.02"}

EPOCHS = 6
OPTIONS = [*TORCH_IMAGENET.options, "--epochs", str(EPOCHS), "--evaluate-every", f"{EPOCHS}epochs"]

# Of each epoch, what makes no whole step of two ranks of 32, at two starts of other ranks at most.
IMAGES, LEFT_OVER = 1437, 3 * 64

_STEP = re.compile(r"epoch \d+/\d+, step (\d+): loss ([^\s,]+)")

pytestmark = [
    pytest.mark.whole_run,
    pytest.mark.skipif(bool(pod_processes.missing()), reason=pod_processes.missing()),
]


class Job:
    """A TorchElasticJob whose pods are processes."""

    def __init__(self, pods: Pods, words: Words, output: Path, backend: str) -> None:
        self.pods, self.words, self.output, self._backend = pods, words, output, backend

    def start_store(self) -> Start:
        command, mounts = list(self.words.store), ""
        if self._backend == "etcd":
            # The folders of its image and of its volume, which is empty in each pod.
            mounts = f"mount --bind {ETCD}/usr/bin /usr/local/bin; mount -t tmpfs tmpfs /var/lib; mkdir /var/lib/etcd"
        else:
            command[0] = sys.executable
        return self.pods.start(STORE, command, {}, mounts)

    def start_worker(self, name: str, speed: dict[str, str]) -> Start:
        client = {"PYTHONPATH": str(ETCD / "usr/lib/python3/dist-packages")} if self._backend == "etcd" else {}
        seen = {"FAULTS_SEEN": str(self.pods.folder)}
        # As many threads as each of two ranks on one node has: sums of other threads have other bits.
        cores = sorted(os.sched_getaffinity(0))[WORKERS.index(name) :: len(WORKERS)]
        bound = ["taskset", "--cpu-list", ",".join(map(str, cores))]
        return self.pods.start(
            name, [*bound, *self.words.expanded("uid-1")], {**self.words.environment, **client, **seen, **speed}
        )

    def wait_for(self, starts: Sequence[Start], reached: Callable[[str], object], what: str) -> None:
        """Return as soon as the output of one of these pods is so; none of them must end before."""

        def check() -> bool:
            assert all(each.process.poll() is None for each in starts), f"ended before {what}\n{self.pods.ends()}"
            return any(reached(each.text) for each in starts)

        self.pods.wait_until(check, what)


@pytest.fixture(params=["c10d", "etcd"])
def backend(request: pytest.FixtureRequest) -> str:
    """Return a store that the job may have."""
    if request.param == "etcd" and not (ETCD / "usr/bin/etcd").exists():
        pytest.skip("Debian's etcd-server and python3-etcd are missing: `make test-long SUITE=torch-elastic` has them")
    return str(request.param)


@pytest.fixture
def job(backend: str, digits: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Job]:
    """Return a job of two workers and `request.param` at least."""
    output = tmp_path / "run"
    program = [sys.executable, "-m", "tests.faults.torch_rank", "--data-dir", str(digits), "--output-dir", str(output)]
    words = rendered(backend, workers=2, min_workers=request.param, gpus=1, command=[*program, *OPTIONS])
    with pod_processes.pods([*WORKERS, STORE], tmp_path) as pods:
        yield Job(pods, words, output, backend)


@pytest.fixture(scope="module")
def undisturbed(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[int, str], Checkpoint]:
    """Return the losses and the last checkpoint of two ranks of one torchrun that nothing disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    options = [
        "-m",
        "tests.faults.torch_rank",
        "--data-dir",
        str(digits),
        "--output-dir",
        str(folder / "run"),
        *OPTIONS,
    ]
    run = Launched([*torchrun(2), *options], folder / "logs", ROOT, FAST)
    try:
        assert run.end() == 0, run.stderr
    finally:
        run.kill()
    last = checkpoint.newest(folder / "run" / FOLDER)
    assert last is not None
    return run.losses, last


def losses(text: str) -> dict[int, str]:
    return {int(step): loss for step, loss in _STEP.findall(text)}


def of_one_step(printed: dict[int, str]) -> dict[int, str]:
    """Return the losses of one step: a line that comes late has the mean of several."""
    return {step: loss for step, loss in printed.items() if step - 1 in printed or step == min(printed)}


def differing(printed: dict[int, str], expected: dict[int, str]) -> dict[int, str]:
    """Return the losses that are others than those of the same step of another run."""
    found, known = of_one_step(printed), of_one_step(expected)
    return {step: loss for step, loss in found.items() if step in known and known[step] != loss}


def resumed(text: str, was: int, now: int) -> int | None:
    """Return the step after which a pod's ranks resumed, with another number of ranks."""
    found = re.search(rf"resuming after step (\d+), .*: written by {was} ranks?, now {now}\n", text)
    return int(found[1]) if found else None


def lose_store(job: Job, store: Start, workers: Sequence[Start]) -> None:
    """Lose the store; the workers end by themselves, each with an error."""
    store.lose()
    assert all(code != 0 for code in job.pods.codes(workers)), job.pods.ends()


def start_both(job: Job, speed: dict[str, str]) -> list[Start]:
    return [job.start_worker(name, speed) for name in WORKERS]


def rank_zero(workers: Sequence[Start]) -> int:
    """Return which of the workers has rank zero, which alone prints."""
    (which,) = (number for number, worker in enumerate(workers) if losses(worker.text))
    return which


def trained(folder: Path) -> dict[int, tuple[int, Counter[int]]]:
    """Return the epoch and the records of each step, as it was trained last."""
    lines: dict[int, list[Any]] = defaultdict(list)
    for path in folder.glob("rank-*"):
        for line in path.read_text().splitlines():
            time, step, ranks, epoch, records = json.loads(line)
            lines[step].append((time, ranks, epoch, records))
    steps = {}
    for step, of_step in lines.items():
        newest = sorted(of_step, reverse=True)
        _, ranks, epoch, _ = newest[0]
        steps[step] = epoch, Counter(record for *_, records in newest[:ranks] for record in records)
    return steps


@pytest.mark.parametrize("job", [1], indirect=True)
def test_a_lost_node_leaves_one_that_trains_on_and_joins_again(
    job: Job, backend: str, undisturbed: tuple[dict[int, str], Checkpoint]
) -> None:
    store = job.start_store() if backend == "etcd" else None
    workers = start_both(job, SLOW)
    # Torch's store may come later than the workers; the pods of workers without etcd fail and are replaced.
    store = store or job.start_store()
    job.wait_for(workers, lambda text: 9 in losses(text), "step 9 of two ranks")
    lost = rank_zero(workers)
    workers[lost].lose()
    before = losses(workers[lost].text)
    assert differing(before, undisturbed[0]) == {}
    left = workers[1 - lost]

    job.wait_for([left], lambda text: resumed(text, 2, 1) is not None, "one rank")
    alone_from = resumed(left.text, 2, 1) or 0
    # At most the steps since the last snapshot, and that one may have been in flight.
    assert max(before) - 2 * CHECKPOINT_STEPS <= alone_from <= max(before)
    job.wait_for([left], lambda text: max(losses(text), default=0) >= alone_from + 5, "five steps of one rank")

    workers[lost] = job.start_worker(WORKERS[lost], SLOW)
    job.wait_for(workers, lambda text: resumed(text, 1, 2) is not None, "two ranks again")
    joined_from = next(step for each in workers if (step := resumed(each.text, 1, 2)) is not None)
    # Nothing is lost: the ranks save when torchrun stops them for the one that joins.
    assert joined_from == max(losses(left.text.partition("written by 1 ranks, now 2")[0]))
    job.wait_for(workers, lambda text: max(losses(text), default=0) >= joined_from + 5, "five steps of two ranks")

    lose_store(job, store, workers)
    job.start_store()
    workers = start_both(job, FAST)
    assert job.pods.codes(workers) == [0, 0], job.pods.ends()
    check_results(job)


def check_results(job: Job) -> None:
    """Check the results of a run of two, one and two ranks, and that it has seen each image of an epoch once."""
    results = json.loads((job.output / "results.json").read_text())
    assert (results["epochs"], results["world_size"], results["evaluated_images"]) == (EPOCHS, 2, 360)
    means = [point["loss"]["training"] for point in results["history"]]
    assert means[-1] < means[0]
    steps = trained(job.pods.folder)
    assert set(steps) == set(range(1, results["steps"] + 1))
    seen: dict[int, Counter[int]] = defaultdict(Counter)
    for epoch, records in steps.values():
        seen[epoch] += records
    assert sorted(seen) == list(range(EPOCHS))
    assert {epoch: max(counts.values()) for epoch, counts in seen.items()} == dict.fromkeys(range(EPOCHS), 1)
    assert min(len(counts) for counts in seen.values()) > IMAGES - LEFT_OVER


@pytest.mark.parametrize("job", [2], indirect=True)
def test_a_run_that_lost_a_node_and_the_store_ends_as_an_undisturbed_one(
    job: Job, undisturbed: tuple[dict[int, str], Checkpoint]
) -> None:
    expected, last = undisturbed
    store = job.start_store()
    workers = start_both(job, SLOW)
    job.wait_for(workers, lambda text: 9 in losses(text), "step 9")
    lost = 1 - rank_zero(workers)
    workers[lost].lose()
    workers[lost] = job.start_worker(WORKERS[lost], SLOW)
    job.wait_for(workers, lambda text: 16 in losses(text), "step 16")
    lose_store(job, store, workers)
    first = [*workers]
    job.start_store()
    workers = start_both(job, FAST)
    assert job.pods.codes(workers) == [0, 0], job.pods.ends()

    printed = [losses(each.text) for each in (*first, *workers)]
    assert [differing(each, expected) for each in printed] == [{}] * len(printed)
    found = checkpoint.newest(job.output / FOLDER)
    assert found is not None
    assert found.metadata["position"] == last.metadata["position"]
    assert [array.tobytes() for array in found.arrays] == [array.tobytes() for array in last.arrays]
