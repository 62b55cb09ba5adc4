"""The gate before the ranks: every worker is checked over ssh, and one that fails is named with its reason."""

import json
import os
import shlex
import sys
import time
from collections.abc import Sequence

from training.pods import remote
from training.pods.job_end import JobEnd, listed
from training.pods.node_check import CHECKING
from training.pods.remote import Answer
from training.pods.requested import Requested

#: The time that the workers have, all at once.
SECONDS = 60.0

# Where ranks of an earlier start still end: their huge pages are free soon after.
_REPEAT_SECONDS = 5.0
_SHORTEST_SECONDS = 10.0

# TLS and S3 accept minutes; a node whose clock is not set differs by more than this.
_CLOCK_SECONDS = 5.0


def check(hosts: Sequence[str], port: int, requested: Requested) -> None:
    """Return if every worker passes, and print the checks.

    Raises:
        JobEnd: A worker does not pass, twice.
    """
    started = time.monotonic()
    notes, failed = _failed(hosts, port, requested, SECONDS)
    if failed:
        time.sleep(_REPEAT_SECONDS)
        left = SECONDS - (time.monotonic() - started)
        _, failed = _failed(list(failed), port, requested, max(left, _SHORTEST_SECONDS))
    for note in sorted(notes):
        print(f"gate: {note}", flush=True)
    if failed:
        fix = "replace the node or fix the request; gate=False of the job starts the ranks without this check"
        raise JobEnd(f"{len(failed)} of {len(hosts)} workers cannot run the job: {listed(failed)}. {fix}")
    took = time.monotonic() - started
    print(f"gate: {len(hosts)} of {len(hosts)} workers can run the job (checked in {took:.1f} s)", flush=True)


def _failed(hosts: Sequence[str], port: int, requested: Requested, seconds: float) -> tuple[set[str], dict[str, str]]:
    """Return the notes of all workers, and the reasons of those that fail."""
    program = [sys.executable, "-m", "training.pods.node_check", *requested.words(), "--seconds", f"{seconds:.0f}"]
    # The working directory has the programs; a session begins in the home.
    command = f"cd {shlex.quote(os.getcwd())} && exec {shlex.join(program)}"
    notes, failed = set[str](), dict[str, str]()
    for host, answer in remote.run(hosts, port, command, seconds=seconds).items():
        found, problems = _read(answer, seconds)
        notes |= found
        if problems:
            failed[host] = ", ".join(problems)
    return notes, failed


def _read(answer: Answer, seconds: float) -> tuple[set[str], list[str]]:
    """Return a worker's notes and problems."""
    lines = answer.output.splitlines()
    if answer.code is None:
        names = [line.removeprefix(CHECKING) for line in lines if line.startswith(CHECKING)]
        return set(), [f"no answer within {seconds:.0f} s{f' to the check of {names[-1]}' if names else ''}"]
    if answer.code != 0 or not lines:
        said = [line for line in answer.errors.splitlines() if line.strip()]
        return set(), [f"the check ended with exit code {answer.code}{f': {said[-1]}' if said else ''}"]
    # The image's shell may print other lines around the result.
    result = next((line for line in reversed(lines) if line.startswith("{")), lines[-1])
    try:
        found = json.loads(result)
        return set(found["notes"]), [*found["problems"], *_clock(answer, found["time"])]
    except (ValueError, KeyError, TypeError):
        return set(), [f"the check printed no result, but {result!r}"]


def _clock(answer: Answer, there: float) -> list[str]:
    """Return that the worker's clock is wrong: its time is outside of the time in which it was asked."""
    ahead, behind = there - answer.received, answer.asked - there
    if max(ahead, behind) <= _CLOCK_SECONDS:
        return []
    how = f"{ahead:.0f} s ahead of" if ahead > 0 else f"{behind:.0f} s behind"
    return [f"its clock is {how} the launcher's"]
