import os
import subprocess
import time
from collections.abc import Callable

import pytest

from training.pods import remote

Answer = Callable[[str, str], None]


def test_every_host_gets_the_command_and_has_its_answer(ssh: Answer) -> None:
    ssh("worker-1", 'echo "not $1" >&2; exit 3')
    before = time.time()
    answers = remote.run(["worker-0", "worker-1"], 2222, "echo 'a  b'", seconds=30)
    assert [(answer.code, answer.output, answer.errors) for answer in answers.values()] == [
        (0, "a  b\n", ""),
        (3, "", "not echo 'a  b'\n"),
    ]
    assert all(before <= answer.asked <= answer.received <= time.time() for answer in answers.values())


def test_hosts_are_asked_at_the_same_time(ssh: Answer) -> None:
    started = time.monotonic()
    assert len(remote.run([f"worker-{number}" for number in range(20)], 2222, "sleep 3", seconds=60)) == 20
    assert time.monotonic() - started < 45


def test_a_host_that_does_not_answer_has_what_it_printed(ssh: Answer) -> None:
    ssh("worker-0", "echo begins; exec sleep 60")
    answer = remote.run(["worker-0"], 2222, "true", seconds=0.5)["worker-0"]
    assert (answer.code, answer.output) == (None, "begins\n")


def test_an_image_without_ssh_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    answer = remote.run(["worker-0"], 2222, "true", seconds=5)["worker-0"]
    assert (answer.code, answer.errors) == (255, "ssh cannot be run: Not a directory")


def test_ssh_gets_the_port_and_asks_nothing(ssh: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def run(command: list[str], **_: object) -> None:
        seen.append(command)
        raise FileNotFoundError(2, "none")

    monkeypatch.setattr(subprocess, "run", run)
    remote.run(["worker-0"], 2222, "true", seconds=5)
    assert seen[0][:3] == ["ssh", "-o", "BatchMode=yes"]
    assert seen[0][-4:] == ["-p", "2222", "worker-0", "true"]
