"""The instance types of the nodes that a pod can run on."""

from training_workloads.catalog import INSTANCE_TYPES, InstanceType
from training_workloads.catalog.nodes import INSTANCE_TYPE_LABEL
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import mapping, sequence

__all__ = ["node_types"]

_OLD_INSTANCE_TYPE_LABEL = "beta.kubernetes.io/instance-type"


def node_types(pods: PodGroup) -> list[InstanceType]:
    """Return the catalog's records of a pod's node types; none where one of them is unknown."""
    selector = mapping(pods.pod.get("nodeSelector"))
    names = [selector[label] for label in (INSTANCE_TYPE_LABEL, _OLD_INSTANCE_TYPE_LABEL) if label in selector]
    affinity = mapping(mapping(pods.pod.get("affinity")).get("nodeAffinity"))
    required = mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    for term in map(mapping, sequence(required.get("nodeSelectorTerms"))):
        listed = [
            expression.get("values")
            for expression in map(mapping, sequence(term.get("matchExpressions")))
            if expression.get("key") == INSTANCE_TYPE_LABEL and expression.get("operator") == "In"
        ]
        # A term without the label allows every type.
        names += sequence(listed[0]) if listed else [None]
    known = [INSTANCE_TYPES[name] for name in names if isinstance(name, str) and name in INSTANCE_TYPES]
    return known if len(known) == len(names) else []
