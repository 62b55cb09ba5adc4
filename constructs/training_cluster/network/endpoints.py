"""The AWS services that nodes and notebooks without internet reach inside the VPC."""

from collections.abc import Mapping

from aws_cdk import Annotations
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

__all__ = ["ServiceEndpoints", "Services", "cluster_services", "service_names"]

#: Services by the id of their endpoint.
Services = Mapping[str, ec2.InterfaceVpcEndpointAwsService]

_SERVICE = ec2.InterfaceVpcEndpointAwsService

# https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html (read 2026-11-21), and what CDK's custom
# resources call. S3 has a gateway endpoint: it holds the layers of ECR's images, and CloudFormation's answers.
_SERVICES = {
    "Ec2": _SERVICE.EC2,  # The AMI names its node, and the CNI assigns addresses.
    "EcrApi": _SERVICE.ECR,
    "EcrDocker": _SERVICE.ECR_DOCKER,
    "Eks": _SERVICE.EKS,  # kubectl's Lambda function reads the cluster's address.
    "EksAuth": _SERVICE.EKS_AUTH,  # Pod Identity.
    "Autoscaling": _SERVICE.AUTOSCALING,  # The cluster autoscaler.
    "Sts": _SERVICE.STS,  # The tokens with which nodes and kubectl log in.
    "Logs": _SERVICE.CLOUDWATCH_LOGS,
    "Monitoring": _SERVICE.CLOUDWATCH_MONITORING,
    "Lambda": _SERVICE("lambda"),  # One of CDK's custom resources calls the function that runs kubectl.
    "ElasticFileSystem": _SERVICE.ELASTIC_FILESYSTEM,  # The EFS driver looks up mount targets and access points.
}

# SSM Agent 3.3.40.0 and later need no endpoint of ec2messages
# (https://docs.aws.amazon.com/systems-manager/latest/userguide/systems-manager-setting-up-messageAPIs.html; read
# 2026-11-23 in the agent's release notes and in excerpts of the page).
_SSM_SERVICES = {
    "Ssm": _SERVICE.SSM,
    "SsmMessages": _SERVICE.SSM_MESSAGES,
}

_WARNING = (
    "without NAT nothing in this VPC reaches the internet: charts and images come from a mirror in ECR of the same "
    "region ('trainctl platform mirror-commands' prints how to fill it), or keep nat on"
)


def service_names(*, ssm: bool = False) -> list[str]:
    """Return the services that nodes without NAT need an interface endpoint of, by the end of their names."""
    return [service.short_name for service in cluster_services(ssm=ssm).values()]


def cluster_services(*, ssm: bool = False) -> Services:
    """Return the services that a cluster without NAT needs, those of Session Manager included on request."""
    return _SERVICES | (_SSM_SERVICES if ssm else {})


class ServiceEndpoints(Construct):
    """Interface endpoints with private DNS names, open to the VPC on port 443 only.

    Attributes:
        security_group: The group of the endpoints.
        endpoints: The endpoints by the name of the service.
    """

    def __init__(self, scope: Construct, id: str, *, vpc: ec2.Vpc, cidr: str, services: Services) -> None:
        """Define the endpoints.

        Args:
            vpc: A VPC with isolated subnets; each gets a network interface of every endpoint.
            cidr: Its address range.
            services: The services.
        """
        super().__init__(scope, id)
        self.security_group = ec2.SecurityGroup(
            self, "SecurityGroup", vpc=vpc, description="AWS services for the VPC", allow_all_outbound=False
        )
        https = ec2.Port.tcp(443)
        self.security_group.add_ingress_rule(ec2.Peer.ipv4(cidr), https, "HTTPS from the VPC")
        self.endpoints = {
            name: ec2.InterfaceVpcEndpoint(
                self,
                name,
                vpc=vpc,
                service=service,
                subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
                security_groups=[self.security_group],
                # CDK would add a second rule.
                open=False,
            )
            for name, service in services.items()
        }
        # Only a cluster pulls charts and images by itself.
        if "Eks" in services:
            Annotations.of(self).add_warning_v2("cdk-training-cluster:no-nat", _WARNING)
