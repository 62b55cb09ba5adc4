"""The effects of a deployment that a person must know before it, and what rules ask about the deployed cluster."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from training_cluster.account.lustre_state import LustreState
from training_cluster.changes.planned_stack import PlannedStack

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
]

LOST: Final = "lost"
REJECTED: Final = "rejected"
STOPS: Final = "stops"
KEPT: Final = "kept"
UNKNOWN: Final = "unknown"

#: `lost`: data or jobs cannot be had again. `rejected`: AWS rejects the deployment, which is rolled back. `stops`:
#: nodes stop, and jobs on them resume. `kept`: a resource is replaced, and the deployed one stays outside the stack
#: and is billed. `unknown`: it could not be read.
Outcome = Literal["lost", "rejected", "stops", "kept", "unknown"]

#: The way where one resource of a name exists: its successor cannot have the name, and is made first.
SEPARATE: Final = "deploy once without it, which deletes it, and then with the new values"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """An effect of a deployment.

    Attributes:
        outcome: Its kind.
        subject: The resource, in words.
        effect: The effect.
        keys: The keys of cluster.yaml that cause it; empty where these are not known.
        remedy: The way to avoid it, in the imperative; empty where the effect is wanted by the change.
    """

    outcome: Outcome
    subject: str
    effect: str
    keys: tuple[str, ...] = ()
    remedy: str = ""


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
    """

    held: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


class Live(Protocol):
    """The deployed cluster, as far as rules ask about it. Each method raises where it cannot be read."""

    def node_group(self, id: str) -> LiveNodeGroup | None:
        """Return a node group by its physical id; None if there is none."""

    def lustre(self, id: str) -> LustreState | None:
        """Return the state of a file system; None if there is none."""

    def importers(self, export: str) -> list[str]:
        """Return the stacks that import an export."""

    def jobs_on(self, group: str) -> Jobs:
        """Return the jobs on the nodes of a node group, by its name in cluster.yaml."""


#: A rule: the effects of one kind.
Rule = Callable[[PlannedStack, Live], Iterator[Finding]]
