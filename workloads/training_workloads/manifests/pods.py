"""The pods of a workload as read from a file: what is missing or has a wrong shape reads as empty, and never raises."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from training_workloads.manifests.values import AMOUNT_KINDS, amount_of, mapping, sequence
from training_workloads.validation import Path

__all__ = ["Container", "PodGroup"]


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
        """Return the amount that it requests: the request, or the limit where Kubernetes uses that as the request."""
        requested = self.amounts("requests").get(resource)
        amount = amount_of(self.amounts("limits").get(resource) if requested is None else requested)
        # The API server rejects a negative one.
        return amount if amount is None or amount >= 0 else None

    @property
    def resource_names(self) -> list[str]:
        """The names in its requests and limits."""
        return [str(name) for kind in AMOUNT_KINDS for name in self.amounts(kind)]

    @property
    def volume_mounts(self) -> list[Mapping[Any, Any]]:
        """Its mounts of volumes."""
        return [mapping(mount) for mount in sequence(self.content.get("volumeMounts"))]

    @property
    def ports(self) -> list[Mapping[Any, Any]]:
        """Its listed ports."""
        return [mapping(port) for port in sequence(self.content.get("ports"))]

    @property
    def security_context(self) -> Mapping[Any, Any]:
        """Its `securityContext`, without the pod's."""
        return mapping(self.content.get("securityContext"))

    def place(self, resource: str) -> Path:
        """Return the path of a resource's amount."""
        kind = "requests" if self.amounts("requests").get(resource) is not None else "limits"
        return (*self.path, "resources", kind, resource)

    def mounts(self, path: str) -> str | None:
        """Return the name of the volume at a path."""
        names = (one.get("name") for one in self.volume_mounts if str(one.get("mountPath")).rstrip("/") == path)
        return next((name for name in names if isinstance(name, str)), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class PodGroup:
    """The pods of one template.

    Attributes:
        role: Their name in the workload, such as `Worker`.
        template_path: The path of the template in the document.
        template: The template: `metadata` and `spec` of the pods.
        replicas: How many pods; None where that is missing, or is not a whole number.
        is_whole: Whether the template is all that there is; another object may have the rest of it.
    """

    role: str
    template_path: Path
    template: Mapping[Any, Any]
    replicas: int | None
    is_whole: bool = True

    @property
    def pod_path(self) -> Path:
        """The path of the pod's spec."""
        return (*self.template_path, "spec")

    @property
    def annotations(self) -> Mapping[Any, Any]:
        """The pods' annotations."""
        return mapping(mapping(self.template.get("metadata")).get("annotations"))

    @property
    def labels(self) -> Mapping[Any, Any]:
        """The pods' labels."""
        return mapping(mapping(self.template.get("metadata")).get("labels"))

    @property
    def pod(self) -> Mapping[Any, Any]:
        """The pod's spec."""
        return mapping(self.template.get("spec"))

    @property
    def containers(self) -> list[Container]:
        """The pod's containers, without its init containers."""
        listed = enumerate(sequence(self.pod.get("containers")))
        return [Container(path=(*self.pod_path, "containers", n), content=mapping(one)) for n, one in listed]

    @property
    def all_containers(self) -> Iterator[Container]:
        """The pod's containers, its init containers first."""
        for name in ("initContainers", "containers"):
            for number, one in enumerate(sequence(self.pod.get(name))):
                if isinstance(one, Mapping):
                    yield Container(path=(*self.pod_path, name, number), content=one)

    @property
    def first(self) -> Container:
        """The first container, which in an MPIJob gets the operator's mounts; an empty one where there is none."""
        return next(iter(self.containers), Container(path=(*self.pod_path, "containers", 0), content={}))

    @property
    def volumes(self) -> list[Mapping[Any, Any]]:
        """The pod's volumes."""
        return [mapping(volume) for volume in sequence(self.pod.get("volumes"))]

    @property
    def claim_mounts(self) -> list[str]:
        """Where the first container mounts claims, such as that of the shared file system."""
        claims = [volume.get("name") for volume in self.volumes if "persistentVolumeClaim" in volume]
        paths = (mount.get("mountPath") for mount in self.first.volume_mounts if mount.get("name") in claims)
        return [path for path in paths if isinstance(path, str)]

    def total(self, resource: str) -> Decimal:
        """Return the amount that all containers of one pod request."""
        return sum((one.amount(resource) or Decimal(0) for one in self.containers), Decimal(0))

    @property
    def sees_devices_otherwise(self) -> bool:
        """Whether it has devices without a request: of a resource claim (DRA), or all of the node's."""
        is_privileged = any(one.security_context.get("privileged") is True for one in self.containers)
        return is_privileged or bool(self.pod.get("resourceClaims"))

    def holder(self, resource: str) -> Container | None:
        """Return the first container that requests a resource."""
        return next((one for one in self.containers if one.amount(resource)), None)
