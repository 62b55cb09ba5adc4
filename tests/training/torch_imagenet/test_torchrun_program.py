"""Attacks on the store of `torchrun`: pickles that would run a command, in place of the state of the rendezvous."""

import base64
import copy
import os
import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from torch.distributed import TCPStore
from torch.distributed.elastic.rendezvous import dynamic_rendezvous
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import _NodeDesc, _RendezvousState

from training.pods import torchrun

PROGRAM = [sys.executable, torchrun.__file__]
RANK = [
    sys.executable,
    "-c",
    "import os; print('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'], flush=True)",
]


class Command:
    """Runs a command when it is unpickled."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (str(self.made),)


def state() -> _RendezvousState:
    """Return a state with every kind of value."""
    made = _RendezvousState()
    first, second = _NodeDesc("host-0", 7, 0), _NodeDesc("host-1", 8, 1)
    made.round, made.complete = 3, True
    made.deadline = datetime(2026, 11, 28, 1, 2, 3, 4, tzinfo=UTC)
    made.participants, made.wait_list, made.redundancy_list = {first: 0}, {second}, {second}
    made.last_heartbeats = {first: made.deadline, second: made.deadline}
    return made


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize("given", [state(), _RendezvousState()])
def test_a_state_is_read_as_torch_reads_it(given: _RendezvousState, protocol: int) -> None:
    read = torchrun.rendezvous_state(pickle.dumps(given, protocol))
    assert type(read) is _RendezvousState
    assert vars(read) == vars(given)
    assert {type(each) for each in read.last_heartbeats} <= {_NodeDesc}


@pytest.mark.parametrize("content", [b"\x80\x04Nr" + (2**27).to_bytes(4, "little") + b".", b"\x80\x04Np134217728\n."])
def test_a_state_takes_no_more_memory_than_it_has_bytes(content: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(pickle.UnpicklingError, match="has place 134217728 of its memo in"):
        torchrun.rendezvous_state(content)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**18


def replaced(name: str, value: Any) -> _RendezvousState:
    changed = copy.copy(state())
    setattr(changed, name, value)
    return changed


def test_nothing_in_a_pickle_runs(tmp_path: Path) -> None:
    made = tmp_path / "made"
    command = Command(made)
    node = _NodeDesc("host", 1, 1)
    object.__setattr__(node, "addr", command)
    for attack in (
        command,
        [command],
        replaced("round", command),
        replaced("extra", command),
        replaced("wait_list", {node}),
    ):
        with pytest.raises(pickle.UnpicklingError, match=r"holds posix\.mkdir, which may run code"):
            torchrun.rendezvous_state(pickle.dumps(attack))
    assert not made.exists()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "pickle exhausted"),
        (b"\x80\x04.", "index|underflow"),
        (pickle.dumps(5), "__dict__"),
        (pickle.dumps(_NodeDesc("a", 1, 1)), "is a _NodeDesc with other values"),
        (pickle.dumps(replaced("extra", 1)), "is a _RendezvousState with other values"),
        (pickle.dumps(replaced("round", state())), "holds a _RendezvousState"),
        (pickle.dumps(replaced("round", datetime)), "holds a type"),
        (b"cbuiltins\neval\n(S'1'\ntR.", "holds builtins.eval"),
        (b"cdatetime\nsys\n.", "holds datetime.sys"),
        (f"c{dynamic_rendezvous.__name__}\nos\n.".encode(), "holds torch.*dynamic_rendezvous.os"),
    ],
)
def test_another_object_is_no_state(content: bytes, why: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match=f"the state in the store is rejected: .*({why})"):
        torchrun.rendezvous_state(content)


def test_a_pickle_changes_no_class() -> None:
    module = dynamic_rendezvous.__name__
    # BUILD with a pair sets attributes of the object before it, here of the class.
    attack = f"c{module}\n_RendezvousState\n(N}}S'closed'\nI01\nsS'__reduce__'\nS'x'\nstb.".encode()
    with pytest.raises(pickle.UnpicklingError):
        torchrun.rendezvous_state(attack)
    assert "closed" not in vars(_RendezvousState)
    assert "__reduce__" not in vars(_RendezvousState)


@pytest.fixture
def store() -> TCPStore:
    """Return the store of a job, as the pod beside its workers has it."""
    return TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)


def agent(store: TCPStore, *options: str) -> list[str]:
    rendezvous = ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{store.port}", "--rdzv-conf=is_host=false"]
    return [*PROGRAM, *rendezvous, "--rdzv-id=job", "--max-restarts=0", *options, "--no-python", *RANK]


def test_a_stranger_runs_nothing_in_the_agent(store: TCPStore, tmp_path: Path) -> None:
    made = tmp_path / "made"
    # What any client of the store may write.
    store.set("torch.rendezvous.job", base64.b64encode(pickle.dumps(Command(made))).decode())
    ended = subprocess.run(agent(store), capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode != 0
    assert "the state in the store is rejected: holds posix.mkdir, which may run code" in ended.stderr
    assert "rank 0 of 1" not in ended.stdout
    assert not made.exists()


def test_a_stranger_runs_nothing_in_a_run_of_this_machine(tmp_path: Path) -> None:
    made = tmp_path / "made"
    port = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False).port
    rank = [sys.executable, "-c", "import time; time.sleep(60)"]
    options = ["--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{port}", "--rdzv-id=job", "--no-python", *rank]
    process = subprocess.Popen([*PROGRAM, *options], stderr=subprocess.PIPE, text=True)
    client = None
    until = time.monotonic() + 60
    while client is None or not client.check(["torch.rendezvous.job"]):
        assert time.monotonic() < until
        time.sleep(0.2)
        client = client or TCPStore("localhost", port, is_master=False, wait_for_workers=False)
    client.set("torch.rendezvous.job", base64.b64encode(pickle.dumps(Command(made))).decode())
    # An agent reads the state again for its heartbeat, every 5 seconds.
    time.sleep(12)
    process.terminate()
    process.communicate(timeout=60)
    assert not made.exists()


def test_agents_meet_and_start_their_ranks(store: TCPStore) -> None:
    agents = [
        subprocess.Popen(agent(store, "--nnodes=2", "--nproc-per-node=1"), stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    lines = [each.communicate(timeout=120)[0] for each in agents]
    assert sorted(lines) == ["rank 0 of 2\n", "rank 1 of 2\n"]
    assert [each.returncode for each in agents] == [0, 0]


def test_the_set_up_and_the_image_install_the_program() -> None:
    root = Path(torchrun.__file__).parents[2]
    for name in ("setup/torch.sh", "training/torch.Dockerfile"):
        assert "training/pods/torchrun.py" in (root / name).read_text()
