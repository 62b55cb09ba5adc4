"""An object of Kubernetes in a chart, from its `spec` in the wire format."""

from collections.abc import Mapping
from typing import Any

import cdk8s
from constructs import Construct

from training_workloads.jobs.train_job import TRAIN_JOB, TRAIN_JOB_API

__all__ = ["wire_object"]

_API_VERSIONS = {
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "Service": "v1",
    TRAIN_JOB: TRAIN_JOB_API,
}


def wire_object(
    scope: Construct,
    id: str,
    *,
    kind: str,
    name: str,
    namespace: str | None,
    spec: Mapping[str, Any],
    labels: Mapping[str, str] | None = None,
) -> cdk8s.ApiObject:
    """Define an object.

    Args:
        scope: A chart, or a construct in one.
        id: Id in the scope.
        kind: Its kind.
        name: Its name.
        namespace: Its namespace; None for that of the chart, or of `kubectl`.
        spec: Its `spec`.
        labels: Its labels. Default: none.
    """
    metadata = cdk8s.ApiObjectMetadata(name=name, namespace=namespace, labels=labels or None)
    made = cdk8s.ApiObject(scope, id, api_version=_API_VERSIONS[kind], kind=kind, metadata=metadata)
    made.add_json_patch(cdk8s.JsonPatch.add("/spec", spec))
    return made
