#!/usr/bin/env python
"""Horovod's `horovodrun`, without its holes: nothing that arrives over the network runs code.

Up to 0.28.1, the last release, the server of an elastic job unpickles what any client writes (CVE-2024-10190). The
set-up and the image install this file in the place of Horovod's program, so it imports nothing from this package. It
differs in four things:

- The server answers the hosts of the job alone. It keeps no worker's key, which any client could read there and with
  which it could send pickles to the worker.
- A worker's addresses, and the messages of its service, are unpickled without functions and classes that can run code.
- A request, an address and a message have a limit, and so has the memory that unpickling them takes.
- With `--network-interface lo` the server listens on that interface alone.
"""

import base64
import io
import pickle
import pickletools
import socket
import sys
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any

from horovod.runner import gloo_run, launch
from horovod.runner.common.util import network
from horovod.runner.elastic import rendezvous
from horovod.runner.http import http_server
from horovod.runner.util.network import get_local_host_addresses

_FORBIDDEN, _TOO_LARGE = 403, 413

# A worker's addresses and a message of Horovod are much shorter, also with the environment of a command.
_MOST_BYTES = 2**20

# Of the number of a request's bytes: Gloo's values are below 10 MB.
_MOST_DIGITS = 7
_LOOPBACK = "127.0.0.1"

# Horovod's names for the messages that the driver gets, which only hold values (horovod/runner/common/service and
# horovod/runner/common/util/network.py, read in 0.28.1).
_HOROVOD = "horovod.runner."
_MESSAGES = ("Request", "Response")


class _Values(pickle.Unpickler):
    """Reads built-in values."""

    def find_class(self, module: str, name: str) -> Any:
        """Reject every class and function."""
        raise pickle.UnpicklingError(f"holds {module}.{name}")


class _Messages(_Values):
    """Reads Horovod's messages too."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the class of a message; reject others."""
        if module.startswith(_HOROVOD) and name.endswith(_MESSAGES):
            found = pickle.Unpickler.find_class(self, module, name)
            # A module has the names that it imports too.
            if isinstance(found, type) and found.__module__.startswith(_HOROVOD):
                # A pickle can change a class that it names, so each gets its own.
                return type(name, (found,), {})
        return super().find_class(module, name)


def worker_addresses(text: bytes) -> Any:
    """Return the addresses and the key that a worker sent.

    Args:
        text: Base64 of a pickle.

    Raises:
        UnpicklingError: It holds more than built-in values.
    """
    return _Values(io.BytesIO(_limited(base64.b64decode(text)))).load()


def messages(message: bytes) -> Any:
    """Return Horovod's message.

    Args:
        message: A pickle.

    Raises:
        UnpicklingError: It holds something else.
    """
    return _Messages(io.BytesIO(_limited(message))).load()


def _limited(content: bytes) -> bytes:
    """Return a pickle; reject one that takes much more memory than it has bytes.

    Its memo is a list, which one operation of five bytes can make 4 billion entries long.
    """
    if len(content) > _MOST_BYTES:
        raise pickle.UnpicklingError(f"has {len(content)} bytes, and at most {_MOST_BYTES} are read")
    for operation, argument, _ in pickletools.genops(content):
        if operation.name.endswith("PUT") and isinstance(argument, int) and argument > len(content):
            raise pickle.UnpicklingError(f"has place {argument} of its memo in {len(content)} bytes")
    return content


class JobHosts:
    """The addresses from which the server accepts requests: this machine, and every host that was in the job."""

    def __init__(self, hosts: Callable[[], Collection[str]]) -> None:
        """Take a function that returns the names of the present hosts."""
        self._hosts = hosts
        # The ranks of a host that left still ask for their rank, to end: its address stays.
        self._known: set[str] = {_LOOPBACK, *get_local_host_addresses()}

    def has(self, address: str) -> bool:
        """Return whether an address is one of the job."""
        if address not in self._known:
            self._known.update(*map(_addresses, self._hosts()))
        return address in self._known


def _addresses(host: str) -> list[str]:
    try:
        return socket.gethostbyname_ex(host)[2]
    except OSError:
        return []


def guarded_handler(driver: Any) -> type[http_server.RendezvousHandler]:
    """Return the handler of an elastic job's requests, in place of `create_rendezvous_handler`."""
    hosts = JobHosts(lambda: driver._host_manager.current_hosts.host_slots)

    class Handler(rendezvous.create_rendezvous_handler(driver)):  # type: ignore[misc]
        def parse_request(self) -> bool:
            # Before any method, those of the server's base class too.
            if not super().parse_request():
                return False
            address, length = self.client_address[0], self.headers.get("Content-Length", "0")
            if not hosts.has(address):
                self._reject(f"{self.command} {self.path} of {address}, which is no host of this job", _FORBIDDEN)
            # A negative length would be read without an end.
            elif not (length.isdecimal() and len(length) <= _MOST_DIGITS):
                self._reject(f"{self.command} {self.path} of {address} with {length} bytes", _TOO_LARGE)
            else:
                return True
            return False

        def _put_value(self, scope: str, key: str, value: bytes) -> None:
            if scope != rendezvous.PUT_WORKER_ADDRESSES:
                super()._put_value(scope, key, value)
                return
            host, local_rank = key.split(":")
            try:
                addresses, secret_key = worker_addresses(value)
            # A broken pickle raises almost anything.
            except Exception as error:
                print(f"horovodrun: rejected the addresses of {host}: {error!r}", file=sys.stderr, flush=True)
                return
            self._put_worker_addresses(host, int(local_rank), addresses, secret_key)

        def _reject(self, request: str, status: int) -> None:
            print(f"horovodrun: rejected {request!r}", file=sys.stderr, flush=True)
            self.close_connection = True
            self.send_status_code(status)

    return Handler


def _on_loopback(find_port: Callable[..., Any]) -> Callable[..., Any]:
    return lambda make_server: find_port(lambda address: make_server((_LOOPBACK, address[1])))


def main() -> None:
    """Run `horovodrun` with the arguments of this process."""
    gloo_run.create_rendezvous_handler = guarded_handler
    network.cloudpickle = SimpleNamespace(dumps=network.cloudpickle.dumps, loads=messages)
    if launch.parse_args().nics == {"lo"}:
        http_server.find_port = _on_loopback(http_server.find_port)
    sys.exit(launch.run_commandline())


if __name__ == "__main__":
    main()
