"""The nodes that ended under a job, read with the user's credentials of AWS where there are any."""

from typing import TYPE_CHECKING

from training_workloads.aws.errors import AwsError, aws_errors
from training_workloads.cli.cluster_output import note

if TYPE_CHECKING:
    from training_workloads.cluster.ended_nodes import EndedNode, NodesOfJob

__all__ = ["read_ended_nodes"]


def read_ended_nodes(nodes: "NodesOfJob") -> "tuple[EndedNode, ...]":
    """Return the nodes that EC2 Auto Scaling ended; nothing, and a note, where it cannot be asked."""
    # Here, because boto3 takes half a second to import, and few jobs have lost a pod.
    from training_workloads.aws.session import AwsSession
    from training_workloads.cluster.ended_nodes import ended_nodes

    try:
        with aws_errors("autoscaling"):
            return ended_nodes(AwsSession().client("autoscaling", nodes.region), nodes)
    except AwsError as error:
        note(f"whether a node of this job was ended, and by whom, is not known: {error}")
        return ()
