"""A process that has imported TensorFlow or PyTorch and forks ranks, so that no start imports it again.

python -m tests.faults.fork_server SOCKET MODULE

The fork is safe because this process has one thread: it has imported modules, and started no device, Horovod or MPI.
The launcher starts `fork_client`; the rank connects with the launcher's variables, writes to its pipes, and is killed
and suspended like any other process. Undisturbed runs start without it, so each comparison also compares the two ways.
"""

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from tests.faults.processes import note_rank

_LONGEST_REQUEST = 2**18


@dataclass(frozen=True, slots=True)
class Forked:
    """A living rank, as the server knows it."""

    rank: int
    """Process id."""
    ended: int
    """Descriptor that is readable when it has ended."""
    client: socket.socket


def serve(listener: socket.socket) -> dict[str, Any] | None:
    """Return the request in each forked rank, and None in the server when its standard input is closed."""
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        selector.register(sys.stdin, selectors.EVENT_READ)
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:
                    return None
                if key.fileobj is listener:
                    client = stack.enter_context(listener.accept()[0])
                    request = _fork(client, selector)
                    if request:
                        return request
                elif key.fd == key.data.ended:
                    _report(key.data, selector)
                else:
                    _forward(key.data, selector)


def _fork(client: socket.socket, selector: selectors.BaseSelector) -> dict[str, Any] | None:
    """Fork a rank; return its request in the rank, and None in the server."""
    content, descriptors, *_ = socket.recv_fds(client, _LONGEST_REQUEST, 3)
    process = os.fork()
    if process == 0:
        # As mpirun does, so that a signal to the group of one rank does not reach the others.
        os.setsid()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        request: dict[str, Any] = json.loads(content)
        return request
    for descriptor in descriptors:
        os.close(descriptor)
    forked = Forked(process, os.pidfd_open(process), client)
    selector.register(forked.ended, selectors.EVENT_READ, forked)
    selector.register(client, selectors.EVENT_READ, forked)
    return None


def _report(forked: Forked, selector: selectors.BaseSelector) -> None:
    """Send a rank's end to its client."""
    _, status = os.waitpid(forked.rank, 0)
    selector.unregister(forked.ended)
    os.close(forked.ended)
    with suppress(KeyError):
        selector.unregister(forked.client)
    with suppress(OSError):
        forked.client.send(str(status).encode())
    forked.client.close()


def _forward(forked: Forked, selector: selectors.BaseSelector) -> None:
    """Send a rank the signal that its client got; kill it where the client was killed."""
    if forked.client.fileno() == -1:
        # Its rank ended in the same round of events.
        return
    received = forked.client.recv(1)
    if received:
        os.kill(forked.rank, received[0])
    else:
        selector.unregister(forked.client)
        os.kill(forked.rank, signal.SIGKILL)


def _become(request: dict[str, Any]) -> None:
    """Take over what the launcher gave to the client."""
    os.environ.clear()
    os.environ.update(request["variables"])
    os.chdir(request["folder"])
    sys.argv[1:] = request["arguments"]
    note_rank()


def main() -> int:
    """Serve, and return the exit code: in the forked ranks that of the rank."""
    address, module = sys.argv[1:]
    rank = importlib.import_module(module)
    # What is imported stays: Python need not look through it for garbage in each rank.
    gc.collect()
    gc.freeze()
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        raise SystemExit(f"the fork server has {threads} threads, and may not fork")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen(64)
        request = serve(listener)
    if request is None:
        # Without cleaning up: PyTorch's libraries would print what they leave.
        os._exit(0)
    _become(request)
    code: int = rank.main(forked=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
