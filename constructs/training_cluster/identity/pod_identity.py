"""An IAM role that the pods of one service account assume through EKS Pod Identity."""

from typing import Annotated

from aws_cdk import Aws
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from training_cluster.checks import AnyCluster, DnsLabel, KnownChecked
from training_workloads.keywords import checked
from training_workloads.names import dns_subdomain

__all__ = ["PodRole"]


class PodRole(iam.Role):
    """A role without permissions, and its association with one service account of one cluster.

    The cluster needs the add-on `eks-pod-identity-agent`, which `TrainingCluster` has. Pods that started before the
    association existed stay without the role.

    Attributes:
        association: Its association with the service account.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: AnyCluster,
        namespace: DnsLabel,
        service_account: Annotated[str, KnownChecked(dns_subdomain)],
    ) -> None:
        """Define the role.

        Args:
            cluster: The cluster that the pods run in.
            namespace: Namespace of the pods.
            service_account: Their service account, which need not exist yet.

        Raises:
            InputError: `cluster` is of another type, or Kubernetes does not allow a name.
        """
        super().__init__(scope, id, assumed_by=_pod_identity(cluster.cluster_name, namespace, service_account))
        self.association = eks.CfnPodIdentityAssociation(
            self,
            "Association",
            cluster_name=cluster.cluster_name,
            namespace=namespace,
            service_account=service_account,
            role_arn=self.role_arn,
        )


def _pod_identity(cluster_name: str, namespace: str, service_account: str) -> iam.IPrincipal:
    """Return EKS Pod Identity for one service account; without the conditions any association could use the role.

    https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html
    """
    conditions = {
        "StringEquals": {
            "aws:SourceAccount": Aws.ACCOUNT_ID,
            "aws:RequestTag/eks-cluster-name": cluster_name,
            "aws:RequestTag/kubernetes-namespace": namespace,
            "aws:RequestTag/kubernetes-service-account": service_account,
        }
    }
    # The conditions are about session tags, so the service must be allowed to set them.
    return iam.ServicePrincipal("pods.eks.amazonaws.com", conditions=conditions).with_session_tags()
