"""An MPIJob as read from a file or a cluster: what is missing or has a wrong shape reads as empty, and never raises."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from training_workloads.mpijob.launch_command import Launch, launches
from training_workloads.validation import Path

__all__ = ["GI", "MI", "Container", "MpiJobView", "Replica", "amount_of", "mapping", "sequence", "whole"]

#: Bytes of `1Mi` and `1Gi`.
MI = 2**20
GI = 2**30

# https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ . The official client has a parser
# too, but its import takes seconds, and the lint runs at every synth.
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(\d+(\.\d*)?|\.\d+))((?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<power>[+-]?\d+))?"
)

_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

# A quantity is at most 2^63 - 1, which has 19 digits; longer ones are not amounts.
_LONGEST = 30


def amount_of(value: Any) -> Decimal | None:
    """Return the amount of a value in a manifest.

    Args:
        value: A number, or a string such as `5120Mi`.

    Returns:
        The amount in the resource's own unit (bytes for memory); None where the value is not a quantity.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > _LONGEST:
        return None
    matched = _QUANTITY.fullmatch(str(value))
    if not matched:
        return None
    number, suffix = Decimal(matched["number"]), matched["suffix"] or ""
    power = int(matched["power"] or _DECIMAL.get(suffix, 0))
    # More than any machine has: Decimal would raise an error.
    return number * 2 ** _BINARY.get(suffix, 0) * Decimal(10) ** power if abs(power) < _LONGEST else None


def mapping(value: Any) -> Mapping[Any, Any]:
    """Return the value, or an empty mapping where it is not a mapping."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: Any) -> list[Any]:
    """Return the value, or an empty list where it is not a list."""
    return value if isinstance(value, list) else []


def whole(value: Any) -> int | None:
    """Return the value where it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Container:
    """A container of a pod.

    Attributes:
        path: Its path in the document.
        content: Its value.
    """

    path: Path
    content: Mapping[Any, Any]

    @property
    def argv(self) -> list[str]:
        """Command and arguments; empty where the image's own are used."""
        words = [*sequence(self.content.get("command")), *sequence(self.content.get("args"))]
        return [word for word in words if isinstance(word, str)]

    def argv_path(self, word: str = "") -> Path:
        """Return the path of the command or the arguments: the first that contains the word."""
        lists = ("command", "args")
        found = (name for name in lists if any(word in str(one) for one in sequence(self.content.get(name))))
        return (*self.path, next(found, lists[0]))

    @property
    def environment(self) -> dict[str, tuple[Any, Path]]:
        """Variables by name: the value, None where it has another source, and the path."""
        entries = enumerate(map(mapping, sequence(self.content.get("env"))))
        return {
            entry["name"]: (entry.get("value"), (*self.path, "env", number))
            for number, entry in entries
            if isinstance(entry.get("name"), str)
        }

    def amounts(self, kind: str) -> Mapping[Any, Any]:
        """Return `resources.requests` or `resources.limits`."""
        return mapping(mapping(self.content.get("resources")).get(kind))

    def amount(self, resource: str) -> Decimal | None:
        """Return what it requests: the request, or the limit where Kubernetes uses that as the request."""
        requested = self.amounts("requests").get(resource)
        return amount_of(self.amounts("limits").get(resource) if requested is None else requested)

    def place(self, resource: str) -> Path:
        """Return the path of a resource's amount."""
        kind = "requests" if self.amounts("requests").get(resource) is not None else "limits"
        return (*self.path, "resources", kind, resource)

    def mounts(self, path: str) -> str | None:
        """Return the name of the volume at a path."""
        mounts = map(mapping, sequence(self.content.get("volumeMounts")))
        names = (mount.get("name") for mount in mounts if str(mount.get("mountPath")).rstrip("/") == path)
        return next((name for name in names if isinstance(name, str)), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Replica:
    """The pods of one role.

    Attributes:
        role: `Launcher` or `Worker`.
        content: `spec.mpiReplicaSpecs.<role>`.
    """

    role: str
    content: Mapping[Any, Any]

    @property
    def path(self) -> Path:
        """Its path in the document."""
        return ("spec", "mpiReplicaSpecs", self.role)

    @property
    def replicas(self) -> int | None:
        """How many pods; None where that is missing, or is not a whole number."""
        return whole(self.content.get("replicas"))

    @property
    def pod_path(self) -> Path:
        """The path of the pod's spec."""
        return (*self.path, "template", "spec")

    @property
    def pod(self) -> Mapping[Any, Any]:
        """The pod's spec."""
        return mapping(mapping(self.content.get("template")).get("spec"))

    @property
    def containers(self) -> list[Container]:
        """The pod's containers, without its init containers."""
        listed = enumerate(sequence(self.pod.get("containers")))
        return [Container(path=(*self.pod_path, "containers", n), content=mapping(one)) for n, one in listed]

    @property
    def first(self) -> Container:
        """The container that gets the operator's mounts and variables; an empty one where there is none."""
        return next(iter(self.containers), Container(path=(*self.pod_path, "containers", 0), content={}))

    @property
    def claim_mounts(self) -> list[str]:
        """Where the first container mounts claims, such as that of the shared file system."""
        volumes = map(mapping, sequence(self.pod.get("volumes")))
        claims = [volume.get("name") for volume in volumes if "persistentVolumeClaim" in volume]
        mounts = map(mapping, sequence(self.first.content.get("volumeMounts")))
        paths = (mount.get("mountPath") for mount in mounts if mount.get("name") in claims)
        return [path for path in paths if isinstance(path, str)]

    def total(self, resource: str) -> Decimal:
        """Return what all containers of one pod request."""
        return sum((one.amount(resource) or Decimal(0) for one in self.containers), Decimal(0))

    @property
    def sees_devices_otherwise(self) -> bool:
        """Whether it has devices without a request: of a resource claim (DRA), or all of the node's."""
        contexts = [mapping(container.content.get("securityContext")) for container in self.containers]
        return bool(self.pod.get("resourceClaims")) or any(context.get("privileged") is True for context in contexts)

    def holder(self, resource: str) -> Container | None:
        """Return the first container that requests a resource."""
        return next((one for one in self.containers if one.amount(resource)), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class MpiJobView:
    """An MPIJob, with what is missing or has a wrong shape as empty.

    Attributes:
        document: The whole of it.
    """

    document: Mapping[Any, Any]

    @property
    def spec(self) -> Mapping[Any, Any]:
        """Its `spec`."""
        return mapping(self.document.get("spec"))

    @property
    def labels(self) -> Mapping[Any, Any]:
        """Its `metadata.labels`."""
        return mapping(mapping(self.document.get("metadata")).get("labels"))

    @property
    def run_policy(self) -> Mapping[Any, Any]:
        """Its `spec.runPolicy`."""
        return mapping(self.spec.get("runPolicy"))

    def role(self, role: str) -> Replica | None:
        """Return the pods of a role; None where there is none."""
        content = mapping(self.spec.get("mpiReplicaSpecs")).get(role)
        return Replica(role=role, content=content) if isinstance(content, Mapping) else None

    @property
    def launcher(self) -> Replica:
        """The launcher; an empty one where there is none."""
        return self.role("Launcher") or Replica(role="Launcher", content={})

    @property
    def worker(self) -> Replica:
        """The workers; empty ones where there are none."""
        return self.role("Worker") or Replica(role="Worker", content={})

    @property
    def replicas(self) -> list[Replica]:
        """The roles that there are."""
        return [found for role in ("Launcher", "Worker") if (found := self.role(role))]

    @property
    def containers(self) -> Iterator[Container]:
        """The containers of all pods."""
        return (container for replica in self.replicas for container in replica.containers)

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launch commands of the launcher."""
        return launches(self.launcher.first.argv)

    def settings(self, name: str) -> Iterator[tuple[Path, Any]]:
        """Yield each path that gives a variable to a container or, with `-x`, to the ranks, and its value."""
        for container in self.containers:
            if name in container.environment:
                value, path = container.environment[name]
                yield path, value
        for launch in self.launches:
            if value := launch.exported.get(name):
                yield self.launcher.first.argv_path(name), value

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
