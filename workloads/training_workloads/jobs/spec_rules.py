"""Rules that the specs of several kinds of jobs share."""

import sys
from typing import Any, Protocol

from training_workloads.jobs.scheduling import Scheduling
from training_workloads.jobs.volumes import SharedVolume
from training_workloads.names import check_dns_label, check_dns_subdomain
from training_workloads.validation import InputError, check_text

__all__ = [
    "check_image",
    "check_namespace",
    "check_number",
    "check_scheduling",
    "check_service_account",
    "check_spec",
    "check_volumes",
]


class _HasImage(Protocol):
    @property
    def image(self) -> str: ...


class _HasNamespace(Protocol):
    @property
    def namespace(self) -> str | None: ...


class _HasScheduling(Protocol):
    @property
    def scheduling(self) -> Scheduling: ...


class _HasServiceAccount(Protocol):
    @property
    def service_account(self) -> str | None: ...


def check_image(spec: _HasImage) -> None:
    """Refuses what cannot be an image's address."""
    check_text("image", spec.image, r"\S+", "the image's address, such as <repository>:<tag>")


def check_namespace(spec: _HasNamespace) -> None:
    """Refuses what cannot be a namespace."""
    if spec.namespace is not None:
        check_dns_label("namespace", spec.namespace)


def check_scheduling(spec: _HasScheduling) -> None:
    """Refuses anything but a `Scheduling`."""
    scheduling: Any = spec.scheduling
    if not isinstance(scheduling, Scheduling):
        raise InputError(f"'scheduling' is {scheduling!r}; give a Scheduling, such as Scheduling(queue='gpu')")


def check_service_account(spec: _HasServiceAccount) -> None:
    """Refuses what cannot be the name of a service account."""
    if spec.service_account is not None:
        check_dns_subdomain("service_account", spec.service_account)


def check_volumes(volumes: Any) -> None:
    """Refuses what is no tuple of volumes, and two of them at one path."""
    if not isinstance(volumes, list | tuple) or not all(isinstance(volume, SharedVolume) for volume in volumes):
        raise InputError(f"'volumes' is {volumes!r}; give a tuple of SharedVolume")
    paths = [volume.mount_path for volume in volumes]
    if len(set(paths)) < len(paths):
        raise InputError(f"'volumes' has the mount paths {', '.join(paths)}; give each volume a path of its own")


def check_spec(spec: Any, kind: type) -> None:
    """Refuses to make a job from what describes another kind of job, or none."""
    # A subclass is another kind: an elastic job's spec is a Horovod job's, with another launcher.
    if type(spec) is not kind:
        given = f"a {type(spec).__name__}" if spec is not None else "None"
        raise InputError(f"'spec' is {given}; give a {kind.__name__}")


def check_number(argument: str, value: Any) -> None:
    """Refuses what is neither None nor a finite number above 0."""
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < sys.float_info.max:
        raise InputError(f"{argument!r} is {value!r}; give a number above 0")
