"""The end of a job that a restart would not help: its reason is shown, and later launchers keep to it.

Kubernetes restarts a launcher that has failed, a few times: its pod may have been lost. The operator gives the Job of
the launcher no `podFailurePolicy` by which an exit code could end it
(https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/mpi_job_controller.go, newLauncherJob). So the
launcher that decides writes its decision to the workers, and the next one ends at once. Workers of a job that is
submitted or resumed again are other pods, without that file.
"""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from training.pods import remote
from training.runtime import listing

#: Where Kubernetes reads why a container ended, as `trainctl status` shows it.
#: https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/
TERMINATION_LOG = Path("/dev/termination-log")

# A worker's file; a container that restarts has lost it.
_DECISION = '"${TMPDIR:-/tmp}/job-end"'

# Kubernetes keeps this many bytes of a reason.
_LONGEST = 4096

# A worker that is lost must not delay the end.
_SECONDS = 15.0

_NAMED = 3


class JobEnd(Exception):
    """The job has failed, and a restart would not help: the message is the reason."""

    def __init__(self, reason: str, code: int = 1) -> None:
        super().__init__(reason)
        self.code = code


class Decided(JobEnd):
    """An earlier launcher has decided it."""


def show(reason: str, termination_log: Path) -> None:
    """Print why the job ends, and give it to Kubernetes where there is one."""
    print(f"error: {reason}", file=sys.stderr, flush=True)
    # Not created: outside of Kubernetes there is no such file.
    if termination_log.exists():
        with suppress(OSError):
            # Cut at a character, which has up to four bytes.
            kept = reason.encode(errors="replace")[:_LONGEST].decode(errors="ignore")
            termination_log.write_text(kept, encoding="utf-8")


def listed(reasons: Mapping[str, str]) -> str:
    """Return the first workers with their reasons, by the first part of their names."""
    return listing.first([f"{_pod(host)}: {reason}" for host, reason in reasons.items()], _NAMED, "; ")


def _pod(host: str) -> str:
    """Return the name of the pod; an address stays."""
    return host if host[:1].isdigit() else host.partition(".")[0]


def keep(end: JobEnd, hosts: Sequence[str], port: int) -> None:
    """Write the decision to the workers that answer."""
    decision = json.dumps({"code": end.code, "reason": str(end)})
    # A launcher that is killed meanwhile leaves no part of it.
    partial = f"{_DECISION}.partial"
    write = f"printf %s {shlex.quote(decision)} > {partial} && mv {partial} {_DECISION}"
    remote.run(hosts, port, write, seconds=_SECONDS)


def recall(hosts: Sequence[str], port: int) -> None:
    """Raise the decision of an earlier launcher of this job, if any of these workers has it.

    All are asked, because a worker that was replaced since does not have it.
    """
    for answer in remote.run(hosts, port, f"cat {_DECISION} 2>/dev/null", seconds=_SECONDS).values():
        if answer.code == 0 and (decision := _decision(answer.output)):
            raise decision


def _decision(text: str) -> Decided | None:
    """Return the decision in a worker's answer; None where it has none, or not a complete one."""
    try:
        found = json.loads(text)
        return Decided(str(found["reason"]), int(found["code"]))
    except (ValueError, KeyError, TypeError):
        return None
