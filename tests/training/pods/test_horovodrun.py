"""Attacks on the server and the messages of `horovodrun`: a pickle that would run a command, and a stranger."""

import base64
import http.client
import os
import pickle
import resource
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from horovod.runner.common.service.driver_service import RegisterTaskRequest
from horovod.runner.common.util import network
from horovod.runner.http.http_server import RendezvousServer

from training.pods import horovodrun

ADDRESSES = ({"lo": [("127.0.0.1", 1)]}, b"secret")


class Command:
    """Runs a command when it is unpickled."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (str(self.made),)


class Driver:
    """An elastic driver with one host, which records the workers."""

    def __init__(self) -> None:
        self._host_manager = SimpleNamespace(current_hosts=SimpleNamespace(host_slots={"localhost": 1}))
        self.workers: list[tuple[Any, ...]] = []

    def register_worker_server(self, *worker: Any) -> None:
        self.workers.append(worker)


@pytest.fixture
def driver() -> Driver:
    return Driver()


@pytest.fixture
def url(driver: Driver) -> Iterator[str]:
    server = RendezvousServer()
    yield f"http://127.0.0.1:{server.start(horovodrun.guarded_handler(driver))}/worker_addresses/h:0"
    server.stop()
    server._httpd.server_close()


def put(url: str, value: object) -> int:
    request = urllib.request.Request(url, data=base64.b64encode(pickle.dumps(value)), method="PUT")
    status: int = urllib.request.urlopen(request, timeout=30).status
    return status


def test_the_addresses_of_a_worker_arrive_and_its_key_is_not_kept(url: str, driver: Driver) -> None:
    assert put(url, ADDRESSES) == 200
    assert driver.workers == [("h", 0, *ADDRESSES)]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(url, timeout=30)


@pytest.mark.parametrize("value", [b"", base64.b64encode(b""), base64.b64encode(pickle.dumps(5))])
def test_broken_addresses_are_rejected(
    url: str, driver: Driver, value: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    urllib.request.urlopen(urllib.request.Request(url, data=value, method="PUT"), timeout=30)
    assert driver.workers == []
    assert capfd.readouterr().err.startswith("horovodrun: rejected the addresses of h: ")


def test_a_pickle_that_runs_a_command_is_rejected(
    url: str, driver: Driver, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    put(url, Command(tmp_path / "made"))
    assert not (tmp_path / "made").exists()
    assert driver.workers == []
    assert capfd.readouterr().err == "horovodrun: rejected the addresses of h: UnpicklingError('holds posix.mkdir')\n"
    # The server still answers.
    assert put(url, ADDRESSES) == 200


# None, at a place of the memo that would take 2 GB.
FAR = b"\x80\x04Nr" + (2**27).to_bytes(4, "little") + b"."


@pytest.mark.parametrize("value", [FAR, b"\x80\x04Np134217728\n.", pickle.dumps(b"a" * 2**20)])
def test_a_pickle_that_takes_much_memory_is_not_read(value: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(pickle.UnpicklingError, match=r"of its memo in|and at most 1048576 are read"):
        horovodrun.worker_addresses(base64.b64encode(value))
    with pytest.raises(pickle.UnpicklingError, match=r"of its memo in|and at most 1048576 are read"):
        horovodrun.messages(value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**18


@pytest.mark.parametrize("length", ["-1", "10000000", "1e3", "9" * 5000])
def test_a_request_without_a_sensible_length_is_not_read(url: str, length: str) -> None:
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    connection.putrequest("PUT", "/global/key")
    connection.putheader("Content-Length", length)
    connection.endheaders(b"value")
    assert connection.getresponse().status == 413
    connection.close()
    assert put(url, ADDRESSES) == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
def test_a_stranger_is_rejected(
    url: str, driver: Driver, method: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(horovodrun.JobHosts, "has", lambda hosts, address: False)
    body = base64.b64encode(pickle.dumps(ADDRESSES)) if method == "PUT" else None
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(urllib.request.Request(url, data=body, method=method), timeout=30)
    assert driver.workers == []
    assert (
        f"rejected '{method} /worker_addresses/h:0 of 127.0.0.1, which is no host of this job'"
        in capfd.readouterr().err
    )


def test_the_hosts_of_a_job_are_known_by_their_addresses_and_stay_known(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"worker-0": "203.0.113.1", "worker-1": "203.0.113.2"}

    def resolved(name: str) -> tuple[str, list[str], list[str]]:
        if name not in names:
            raise OSError(f"no such host: {name}")
        return name, [], [names[name]]

    monkeypatch.setattr("socket.gethostbyname_ex", resolved)
    present = ["worker-0", "worker-9"]
    hosts = horovodrun.JobHosts(lambda: present)
    assert hosts.has("127.0.0.1")
    assert hosts.has("203.0.113.1")
    assert not hosts.has("203.0.113.2")
    present[:] = ["worker-1"]
    assert hosts.has("203.0.113.2")
    assert hosts.has("203.0.113.1")


def read(value: object) -> Any:
    return horovodrun.messages(pickle.dumps(value))


def test_messages_are_read_and_nothing_else(tmp_path: Path) -> None:
    assert read(RegisterTaskRequest(1, {"lo": [("127.0.0.1", 1)]}, "host")).index == 1
    assert isinstance(read(network.AckResponse()), network.AckResponse)
    assert read(network.PingResponse("service", "127.0.0.1")).source_address == "127.0.0.1"
    for other in (Command(tmp_path / "made"), network.BasicService, urllib.request.Request, Path("a")):
        with pytest.raises(pickle.UnpicklingError, match="holds "):
            read(other)
    assert not (tmp_path / "made").exists()
    # One that changes the class which it names.
    evil = b"chorovod.runner.common.util.network\nPingRequest\nN}X\x04\x00\x00\x00evilK\x01s\x86b."
    assert issubclass(horovodrun.messages(b"\x80\x04" + evil), network.PingRequest)
    assert not hasattr(network.PingRequest, "evil")
    # A class that a module of Horovod imports.
    with pytest.raises(pickle.UnpicklingError, match=r"holds horovod\.runner\.http\.http_client\.Request"):
        horovodrun.messages(b"chorovod.runner.http.http_client\nRequest\n.")
