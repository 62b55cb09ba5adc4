"""An MPIJob as read from a file or a cluster: what is missing or has a wrong shape reads as empty, and never raises."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import mapping, whole
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.launch_command import Launch, launches
from training_workloads.validation import Path

__all__ = ["MpiJobView", "Replica"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Replica(PodGroup):
    """The pods of one role.

    Attributes:
        content: `spec.mpiReplicaSpecs.<role>`.
    """

    content: Mapping[Any, Any]

    @classmethod
    def of(cls, role: str, content: Mapping[Any, Any]) -> "Replica":
        """Return the pods of a role, `Launcher` or `Worker`, by what the job has for it."""
        return cls(
            role=role,
            template_path=("spec", "mpiReplicaSpecs", role, "template"),
            template=mapping(content.get("template")),
            replicas=whole(content.get("replicas")),
            content=content,
        )

    @property
    def path(self) -> Path:
        """Its path in the document."""
        return self.template_path[:-1]


# Without slots, which have no place for what is computed once.
@dataclass(frozen=True, kw_only=True)
class MpiJobView(WorkloadView):
    """An MPIJob, with what is missing or has a wrong shape as empty."""

    @property
    def run_policy(self) -> Mapping[Any, Any]:
        """Its `spec.runPolicy`."""
        return mapping(self.spec.get("runPolicy"))

    def role(self, role: str) -> Replica | None:
        """Return the pods of a role; None where there is none."""
        content = mapping(self.spec.get("mpiReplicaSpecs")).get(role)
        return Replica.of(role, content) if isinstance(content, Mapping) else None

    @property
    def launcher(self) -> Replica:
        """The launcher; an empty one where there is none."""
        return self.role("Launcher") or Replica.of("Launcher", {})

    @property
    def worker(self) -> Replica:
        """The workers; empty ones where there are none."""
        return self.role("Worker") or Replica.of("Worker", {})

    @property
    def replicas(self) -> list[Replica]:
        """The roles that there are."""
        return [found for role in ("Launcher", "Worker") if (found := self.role(role))]

    @property
    def groups(self) -> Sequence[Replica]:
        """The same."""
        return self.replicas

    @property
    def rank_groups(self) -> Sequence[Replica]:
        """The workers, and the launcher where it holds ranks."""
        return [replica for replica in self.replicas if replica.role == "Worker" or self.launcher_holds_ranks]

    @cached_property
    def launches(self) -> tuple[Launch, ...]:
        """The launch commands of the launcher."""
        return launches(self.launcher.first.argv)

    @cached_property
    def launch_path(self) -> Path:
        """The path of the launcher's command or arguments: those with the options of what starts the ranks."""
        first = self.launcher.first
        options = [launch.words[position] for launch in self.launches[:1] for position, _, _ in launch.options]
        return first.argv_path((options or [launch.launcher for launch in self.launches] or [""])[0])

    @property
    def launcher_holds_ranks(self) -> bool:
        """Whether the launcher's pod is a worker too."""
        return self.spec.get("runLauncherAsWorker") is True

    @property
    def is_open_mpi(self) -> bool:
        """Whether the operator writes the hostfile and the variables of Open MPI."""
        return self.spec.get("mpiImplementation") in (None, "OpenMPI")

    @property
    def waits_for_workers(self) -> bool:
        """Whether the launcher is created when the workers are ready."""
        return self.spec.get("launcherCreationPolicy") == "WaitForWorkersReady"

    @property
    def slots(self) -> int | None:
        """Ranks that a worker holds; the operator's default is 1."""
        return whole(1 if self.spec.get("slotsPerWorker") is None else self.spec.get("slotsPerWorker"))

    @property
    def total_slots(self) -> int | None:
        """Ranks that all pods hold together; None where a number is missing."""
        workers = self.worker.replicas
        if not workers or not self.slots or workers < 0 or self.slots < 0:
            return None
        return (workers + self.launcher_holds_ranks) * self.slots
