"""Which node labels say where an instance is in AWS's network: one for each layer, on some types only."""

__all__ = ["HOSTNAME_LABEL", "network_labels"]

#: Set by the kubelet on every node: the narrowest place.
HOSTNAME_LABEL = "kubernetes.io/hostname"

# EKS sets them, the widest layer first. "Place distributed AI/ML workloads with network topology labels":
# https://docs.aws.amazon.com/eks/latest/userguide/ml-workload-topology.html (read 2026-11-23)
_LAYER = "topology.k8s.aws/network-node-layer-{}"

# Types that EC2 reports the network nodes of, and how many; all sizes of the families. Other types have no label.
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-topology-prerequisites.html (read 2026-11-23)
_FAMILIES = {"g6e": 3, "g7e": 3, "p3dn": 3, "p4d": 3, "p4de": 3, "p5e": 3, "p5en": 3, "p6-b200": 4, "p6-b300": 4}
_TYPES = {"p5.48xlarge": 3}


def network_labels(instance_type: str) -> tuple[str, ...]:
    """Return the labels of a node's place in the network, the widest first; none where EC2 does not report it.

    Args:
        instance_type: EC2's name of the type.
    """
    layers = _TYPES.get(instance_type) or _FAMILIES.get(instance_type.partition(".")[0], 0)
    return tuple(_LAYER.format(layer) for layer in range(1, layers + 1))
