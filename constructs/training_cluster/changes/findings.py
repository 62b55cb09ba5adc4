"""The effects of a deployment that a person must know before it, and what rules ask about the deployed cluster."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from training_cluster.account.kept_resources import KeptResource
from training_cluster.account.lustre_state import LustreState
from training_cluster.changes.planned_stack import PlannedStack
from training_workloads.aws.errors import RequestError
from training_workloads.cluster.failures import ClusterError

__all__ = [
    "KEPT",
    "LOST",
    "REJECTED",
    "SEPARATE",
    "STOPS",
    "UNKNOWN",
    "Finding",
    "Jobs",
    "Live",
    "LiveNodeGroup",
    "Outcome",
    "Rule",
    "ending_jobs",
]

LOST: Final = "lost"
REJECTED: Final = "rejected"
STOPS: Final = "stops"
KEPT: Final = "kept"
UNKNOWN: Final = "unknown"

#: `lost`: data or jobs cannot be had again. `rejected`: AWS rejects the deployment, which is rolled back. `stops`:
#: nodes stop, and jobs on them resume. `kept`: a resource or a stack stays, outside the stack or the app, and is
#: billed. `unknown`: it could not be read.
Outcome = Literal["lost", "rejected", "stops", "kept", "unknown"]

#: The way where one resource of a name exists: its successor cannot have the name, and is made first.
SEPARATE: Final = ("deploy without it, which deletes it", "deploy with the new values, which makes the new one")


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """An effect of a deployment.

    Attributes:
        outcome: Its kind.
        subject: The resource, in words.
        effect: The effect.
        keys: The keys of cluster.yaml that cause it; empty where these are not known.
        remedy: The way to avoid it, in the imperative; empty where the effect is wanted by the change.
        steps: The deployments, and what to do between them, that make the change in this order; empty where one
            deployment makes it.
        jobs: The jobs that end or stop with it, as `name in namespace`.
    """

    outcome: Outcome
    subject: str
    effect: str
    keys: tuple[str, ...] = ()
    remedy: str = ""
    steps: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveNodeGroup:
    """A node group as EKS has it.

    Attributes:
        status: EKS's word for its state.
        desired: How many nodes it wants now.
        issues: EKS's reasons of a state that is not healthy.
    """

    status: str
    desired: int
    issues: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Jobs:
    """The jobs on some nodes, as `name in namespace`.

    Attributes:
        held: Those whose pods may not be evicted.
        others: Those that are evicted, and resume.
        by_type: Those of both that name the instance type of their nodes.
        by_group: Those of both that name the node group.
    """

    held: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    by_type: tuple[str, ...] = ()
    by_group: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.held, *self.others)


class Live(Protocol):
    """The deployed cluster, as far as rules ask about it. Each method raises where it cannot be read."""

    def node_group(self, id: str) -> LiveNodeGroup | None:
        """Return a node group by its physical id; None if there is none."""

    def lustre(self, id: str) -> LustreState | None:
        """Return the state of a file system; None if there is none."""

    def kept(self, kind: str, id: str) -> KeptResource:
        """Return a resource that stays, with its size and price where these can be read."""

    def importers(self, export: str) -> list[str]:
        """Return the stacks that import an export."""

    def jobs_on(self, group: str) -> Jobs:
        """Return the jobs on the nodes of a node group, by its name in cluster.yaml."""

    def jobs_in(self, namespace: str | None) -> tuple[str, ...]:
        """Return the jobs with pods in a namespace; None: in all."""


#: A rule: the effects of one kind.
Rule = Callable[[PlannedStack, Live], Iterator[Finding]]


def ending_jobs(live: Live, namespace: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the jobs that end with a namespace, or with the cluster, first as a part of a sentence.

    The finding holds also where the cluster cannot be read.
    """
    try:
        jobs = live.jobs_in(namespace)
    except (ClusterError, RequestError) as error:
        return f" (its jobs cannot be read: {error.event if isinstance(error, ClusterError) else error})", ()
    return f" ({', '.join(jobs)} ends)" if jobs else "", jobs
