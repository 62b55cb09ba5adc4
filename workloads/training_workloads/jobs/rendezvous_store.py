"""The store by which the agents of torchrun find each other, in a small pod beside those with GPUs (docs/adr/0022)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from training_workloads.catalog.images import ETCD_IMAGE
from training_workloads.jobs.gpu_pods import GpuPods
from training_workloads.mpijob.api import JOB_NAME_LABEL

__all__ = ["RENDEZVOUS_STORES", "STORE_SUFFIX", "Rendezvous", "RendezvousStore"]

Rendezvous = Literal["c10d", "etcd"]

#: What the names of the store's objects have behind the job's.
STORE_SUFFIX = "-store"

_COMPONENT_LABEL = "app.kubernetes.io/component"

# The default port of `--rdzv-endpoint`, and that of etcd's clients
# (https://github.com/pytorch/pytorch/blob/main/torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py and
# etcd_rendezvous.py there, read 2026-11-23).
_C10D_PORT = 29400
_ETCD_PORT = 2379

# The server that torchrun's agents otherwise start in one of them. It needs no number of clients, and it ends at once
# with its pod: process 1 of a container ignores SIGTERM unless it has a handler.
_C10D_SERVER = f"""\
import signal, sys
from torch.distributed import TCPStore
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
store = TCPStore("localhost", {_C10D_PORT}, is_master=True, wait_for_workers=False)
print("the store of the rendezvous listens on port {_C10D_PORT}", flush=True)
while True:
    signal.pause()
"""

_ETCD_DATA = "/var/lib/etcd"
_ETCD_VOLUME = "etcd"


@dataclass(frozen=True, kw_only=True, slots=True)
class RendezvousStore:
    """How a store runs, and how torchrun reaches it.

    Attributes:
        port: Where it listens.
        timeouts: Options of `--rdzv-conf` that take the seconds in which the workers must be there.
        options: Its other options.
        memory: Request and limit; that of c10d is an estimate for the import of torch, not measured.
    """

    port: int
    timeouts: tuple[str, ...]
    options: Mapping[str, str]
    memory: str

    def torchrun_options(self, backend: Rendezvous, job: str, seconds: int) -> list[str]:
        """Return the options of torchrun that name the store.

        Args:
            backend: Which store it is.
            job: Name of the job.
            seconds: In which the workers must be there.
        """
        given = dict(self.options) | dict.fromkeys(self.timeouts, str(seconds))
        return [
            f"--rdzv-backend={backend}",
            f"--rdzv-endpoint={job}{STORE_SUFFIX}:{self.port}",
            "--rdzv-conf=" + ",".join(f"{name}={value}" for name, value in given.items()),
        ]

    def deployment(self, backend: Rendezvous, pods: GpuPods) -> dict[str, Any]:
        """Return the `spec` of the store's Deployment.

        Args:
            backend: Which store it is.
            pods: Those of the job.
        """
        labels = _labels(pods.spec.name)
        # Without the role and the hold label of a job's pod: budgets would hold a node for a store whose job has ended.
        volume = {"name": _ETCD_VOLUME, "emptyDir": {"sizeLimit": "1Gi"}}
        template = pods.store(
            self._container(backend, pods), labels, **({"volumes": [volume]} if backend == "etcd" else {})
        )
        # Two stores at once would divide the workers between them.
        strategy = {"type": "Recreate"}
        return {"replicas": 1, "strategy": strategy, "selector": {"matchLabels": labels}, "template": template}

    def service(self, job: str) -> dict[str, Any]:
        """Return the `spec` of the store's Service."""
        ports = [{"name": "store", "port": self.port, "targetPort": "store"}]
        return {"type": "ClusterIP", "selector": _labels(job), "ports": ports}

    def _container(self, backend: Rendezvous, pods: GpuPods) -> dict[str, Any]:
        container = {
            "name": "store",
            "image": pods.spec.image,
            "command": ["python", "-c", _C10D_SERVER],
            "ports": [{"name": "store", "containerPort": self.port}],
            "resources": {"requests": {"cpu": "100m", "memory": self.memory}, "limits": {"memory": self.memory}},
        }
        if backend == "etcd":
            container |= {
                "image": str(ETCD_IMAGE),
                "command": _etcd_command(pods.spec.name),
                "readinessProbe": {"httpGet": {"path": "/health", "port": "store"}, "periodSeconds": 10},
                "volumeMounts": [{"name": _ETCD_VOLUME, "mountPath": _ETCD_DATA}],
            }
        return container


def _labels(job: str) -> dict[str, str]:
    """Return the labels of the store's pod: the job's, by which its NetworkPolicy lets the workers in, and its own."""
    return {JOB_NAME_LABEL: job, _COMPONENT_LABEL: "store"}


def _etcd_command(job: str) -> list[str]:
    # Its clients ask it for its address and then use that: the one that they have.
    return [
        "/usr/local/bin/etcd",
        "--enable-v2=true",
        f"--data-dir={_ETCD_DATA}/data",
        f"--listen-client-urls=http://0.0.0.0:{_ETCD_PORT}",
        f"--advertise-client-urls=http://{job}{STORE_SUFFIX}:{_ETCD_PORT}",
    ]


#: Each store by the name of torchrun's backend. An agent waits as long for the store's first answer (`read_timeout`) as
#: for the other workers: both may wait for a node and for an image. `is_host`: no agent is to be the store.
RENDEZVOUS_STORES: Mapping[Rendezvous, RendezvousStore] = {
    "c10d": RendezvousStore(
        port=_C10D_PORT, timeouts=("join_timeout", "read_timeout"), options={"is_host": "false"}, memory="2Gi"
    ),
    "etcd": RendezvousStore(port=_ETCD_PORT, timeouts=("timeout",), options={}, memory="512Mi"),
}
