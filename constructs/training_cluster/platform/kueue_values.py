"""The values of Kueue's chart: which objects its webhooks see, and that one of its pods always answers them."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from training_workloads.catalog.nodes import DISK_RESOURCE, HOSTNAME_LABEL, NAMESPACE_NAME_LABEL

__all__ = ["IMAGE_VALUE", "configuration", "configuration_hash", "values"]

#: Path of the value that names the image.
IMAGE_VALUE = ("controllerManager", "manager", "image")

# The chart's list without pod, deployment, statefulset and leaderworkerset. With those the chart lets the API server
# reject every new pod, Deployment and StatefulSet of a namespace while Kueue does not answer (`failurePolicy: Fail`),
# and asks Kueue in vain without them (`Ignore`): templates/webhook/manifests.yaml of the chart.
# https://github.com/kubernetes-sigs/kueue/tree/main/charts/kueue (read 2026-11-23)
_FRAMEWORKS = (
    "batch/job",
    "kubeflow.org/mpijob",
    "ray.io/rayjob",
    "ray.io/raycluster",
    "jobset.x-k8s.io/jobset",
    "trainer.kubeflow.org/trainjob",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "kubeflow.org/jaxjob",
    "workload.codeflare.dev/appwrapper",
)

# The chart has its configuration as one text, so the rest is repeated as the chart's values.yaml has it (on the main
# branch, with the same v1beta2; the file at the tag of the pinned release was not read).
_AS_IN_THE_CHART = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "health": {"healthProbeBindAddress": ":8081"},
    "metrics": {"bindAddress": ":8443"},
    "webhook": {"port": 9443},
    "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
    "controller": {
        "groupKindConcurrency": {
            "Job.batch": 5,
            "Pod": 5,
            "Workload.kueue.x-k8s.io": 5,
            "LocalQueue.kueue.x-k8s.io": 1,
            "ClusterQueue.kueue.x-k8s.io": 1,
            "ResourceFlavor.kueue.x-k8s.io": 1,
        }
    },
    "clientConnection": {"qps": 50, "burst": 100},
}

# Of the chart's pods (templates/_helpers.tpl), with the name of this release.
_PODS = {
    "app.kubernetes.io/name": "kueue",
    "app.kubernetes.io/instance": "kueue",
    "control-plane": "controller-manager",
}


# Its values in the chart. Kueue stops a job of the queue that borrows most, for a queue that has less.
# https://kueue.sigs.k8s.io/docs/concepts/fair_sharing/ (read 2026-11-28)
_FAIR_SHARING = {"fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}}


def configuration(namespaces: Iterable[str], *, fair_sharing: bool = False) -> str:
    """Return Kueue's configuration: jobs of these namespaces, and of no other, pass its webhooks.

    The chart makes the `namespaceSelector` of each kind of job from `managedJobsNamespaceSelector`. So a Kueue that
    does not answer stops new jobs where a queue is, and nothing else in the cluster.

    Args:
        namespaces: Namespaces with a queue.
        fair_sharing: Whether queues get equal parts of what they borrow from each other.
    """
    selected = {"key": NAMESPACE_NAME_LABEL, "operator": "In", "values": sorted(namespaces)}
    ours = {
        "managedJobsNamespaceSelector": {"matchExpressions": [selected]},
        "integrations": {"frameworks": list(_FRAMEWORKS)},
        # Kueue admits no job that requests a resource outside the quota. Disk space is the node's, as the scheduler
        # counts it (the setting, with a topology too: https://github.com/kubernetes-sigs/kueue/issues/8838).
        "resources": {"excludeResourcePrefixes": [DISK_RESOURCE]},
    }
    # JSON is YAML too.
    return json.dumps(_AS_IN_THE_CHART | ours | (_FAIR_SHARING if fair_sharing else {}))


def configuration_hash(text: str) -> str:
    """Return a short hash of a configuration."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def values(configuration: str, configuration_hash: str) -> dict[str, Any]:
    """Return the values of the chart.

    Kueue reads the configuration when it starts, so a new hash of it starts new pods.
    """
    return {
        "controllerManager": {
            # Kueue would end a job whose pods do not all run within 30 minutes, and queue it again: an elastic job that
            # trains with fewer workers, and one that waits for large instances to start. The operator reports that a
            # job runs when all workers do. SageMaker HyperPod's add-on of Kueue sets the same.
            # https://github.com/kubernetes-sigs/kueue/releases/tag/v0.19.0 (read 2026-11-23)
            "featureGates": [{"name": "DisableWaitForPodsReady", "enabled": True}],
            # No job can be created while none of them answers: two, on different nodes where there are two, one of
            # which an update of the nodes leaves.
            "replicas": 2,
            "podDisruptionBudget": {"enabled": True, "minAvailable": 1},
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": HOSTNAME_LABEL,
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": _PODS},
                }
            ],
            "manager": {"podAnnotations": {"training-cluster/configuration": configuration_hash}},
        },
        "managerConfig": {"controllerManagerConfigYaml": configuration},
    }
