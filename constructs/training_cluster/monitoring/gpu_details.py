"""The metrics of GPUs that the CloudWatch add-on does not send: NVIDIA's exporter, and how its agent reads it."""

import hashlib
from typing import Any

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.monitoring.cluster_metrics import ClusterMetrics
from training_cluster.platform.helm_release import helm_release
from training_workloads.catalog.gpu_metrics import GPU_DETAILS
from training_workloads.catalog.images import DCGM_EXPORTER_IMAGE
from training_workloads.catalog.nodes import GPU_PRESENT_LABEL, gpu_toleration
from training_workloads.catalog.versions import DCGM_EXPORTER

__all__ = ["LOG_GROUP", "GpuDetails", "agent_section", "scrape_config"]

#: Last name of the log group to which the agent writes the metrics; CloudWatch makes metrics of its lines.
LOG_GROUP = "prometheus"

_NAMESPACE = "kube-system"
_PORT = 9400
_JOB = "gpu-details"

# Those of the add-on's exporter (tests/template of https://github.com/aws-observability/helm-charts at deff1de, read
# 2026-11-23), without its limit on the CPU.
_RESOURCES = {"requests": {"cpu": "250m", "memory": "128Mi"}, "limits": {"memory": "750Mi"}}


class GpuDetails(Construct):
    """NVIDIA's DCGM exporter on every GPU node, with the counters of the catalog.

    A counter that DCGM cannot read has no line in the exporter's output: `toString` in its gpu_collector.go skips
    fields with a status other than OK and all blank values (read 2026-11-23 at 1b5e07f). Without a driver it ends, and
    the kubelet starts it again.

    Attributes:
        chart: The Helm release.
    """

    def __init__(
        self, scope: Construct, id: str, *, cluster: eks.ICluster | eks.Cluster, mirror: str | None = None
    ) -> None:
        """Define the release.

        Args:
            cluster: The cluster with the GPU nodes.
            mirror: ECR registry with copies of chart and image. Default: NVIDIA's registry.

        Raises:
            InputError: `mirror` is not an ECR registry.
        """
        super().__init__(scope, id)
        counters = "\n".join(counter.csv for counter in GPU_DETAILS) + "\n"
        values = {
            "customMetrics": counters,
            # The pods mount the list in a way that does not follow a change.
            "podAnnotations": {"counters": hashlib.sha256(counters.encode()).hexdigest()},
            "nodeSelector": {GPU_PRESENT_LABEL: "true"},
            "tolerations": [gpu_toleration()],
            "resources": _RESOURCES,
            # Every agent reads the exporter of the node that it is on.
            "service": {"port": _PORT, "internalTrafficPolicy": "Local"},
            # It needs the Prometheus operator.
            "serviceMonitor": {"enabled": False},
        }
        self.chart = helm_release(
            self,
            "Resource",
            cluster=cluster,
            release=DCGM_EXPORTER,
            image=DCGM_EXPORTER_IMAGE,
            values=values,
            mirror=mirror,
            namespace=_NAMESPACE,
        )


def agent_section(metrics: ClusterMetrics) -> dict[str, Any]:
    """Return the agent's settings under `logs.metrics_collected.prometheus`.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/ContainerInsights-Prometheus-Setup-configure.html
    (read 2026-11-23). The operator sets the path of `scrape_config`
    (https://github.com/aws/amazon-cloudwatch-agent-operator/pull/258).
    """
    # A sample of each GPU: the sum is the node's. Other labels, such as `gpu` and `pod`, stay in the log.
    node = {
        "source_labels": ["job"],
        "label_matcher": f"^{_JOB}$",
        "dimensions": [["NodeName"]],
        "metric_selectors": [f"^{counter.field}$" for counter in GPU_DETAILS],
    }
    return {
        "cluster_name": metrics.cluster_name,
        "log_group_name": f"/aws/containerinsights/{metrics.cluster_name}/{LOG_GROUP}",
        "emf_processor": {"metric_namespace": metrics.own_namespace, "metric_declaration": [node]},
    }


def scrape_config() -> dict[str, Any]:
    """Return the agent's scrape configuration, in Prometheus' format: the exporter of its node once a minute.

    Without a `$`, which the agent would take for a variable.
    """
    exporter = {
        "job_name": _JOB,
        "static_configs": [{"targets": [f"{DCGM_EXPORTER.chart}.{_NAMESPACE}.svc:{_PORT}"]}],
        "metric_relabel_configs": [
            {
                "source_labels": ["__name__"],
                "regex": "|".join(counter.field for counter in GPU_DETAILS),
                "action": "keep",
            },
            # The exporter's host name is that of the node.
            {"source_labels": ["Hostname"], "target_label": "NodeName"},
        ],
    }
    return {"global": {"scrape_interval": "1m", "scrape_timeout": "10s"}, "scrape_configs": [exporter]}
