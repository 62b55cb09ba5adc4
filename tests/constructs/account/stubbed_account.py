"""An account as botocore's stubs answer for it, and a configuration in it."""

from collections.abc import Mapping
from typing import Any

from tests.workloads.aws.stubbed_session import StubbedSession
from training_cluster.account.account_requests import Account
from training_cluster.account.checked_deployment import Deployment
from training_cluster.config import ClusterConfig

OREGON = {"us-west-2a": "usw2-az1", "us-west-2b": "usw2-az2", "us-west-2c": "usw2-az3"}
VIRGINIA = {"us-east-1a": "use1-az3", "us-east-1b": "use1-az1", "us-east-1c": "use1-az2"}
ARN = "arn:aws:cloudformation:us-west-2:111122223333:stack/TrainingClusterStack/1"

#: What a configuration names as existing.
EXISTING_VPC: dict[str, Any] = {
    "vpc_id": "vpc-0123456789abcdef0",
    "private_subnet_ids": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
}
EXISTING_LUSTRE = {"file_system_id": "fs-0123456789abcdef0", "mount_name": "abcdefgh", "capacity_gib": 2400}
EXISTING_EFS = {"file_system_id": "fs-0fedcba9876543210", "access_point_id": "fsap-0123456789abcdef0"}


class StubbedAccount(Account):
    """An account whose requests are answered in the order in which a test gives the answers."""

    def __init__(self, region: str = "us-west-2") -> None:
        self.stubs = StubbedSession(region)
        super().__init__(self.stubs)

    def answer(self, service: str, request: str, response: dict[str, Any], expected: Any = None) -> None:
        """Give the next answer of a service."""
        self.stubs.answer(service, request, response, expected)

    def forbid(self, service: str, request: str, message: str = "", code: str = "AccessDenied") -> None:
        """Deny the next request to a service."""
        self.stubs.reject(service, request, code, message)

    def answer_identity(self) -> None:
        """Say who the user is."""
        arn = "arn:aws:iam::111122223333:user/me"
        self.answer("sts", "get_caller_identity", {"UserId": "me", "Account": "111122223333", "Arn": arn})

    def answer_zones(self, zones: dict[str, str] = OREGON) -> None:
        """Say which zones the region has."""
        found = [{"ZoneName": name, "ZoneId": id, "State": "available"} for name, id in zones.items()]
        self.answer("ec2", "describe_availability_zones", {"AvailabilityZones": found})

    def answer_stack(
        self,
        resources: Mapping[str, tuple[str, ...]] | None = None,
        outputs: dict[str, str] | None = None,
        status: str = "CREATE_COMPLETE",
        name: str = "TrainingClusterStack",
        *,
        protected: bool = False,
    ) -> None:
        """Say what is in a stack: by logical id the type, the physical id, and a status that is not CREATE_COMPLETE."""
        pairs = [{"OutputKey": key, "OutputValue": value} for key, value in (outputs or {}).items()]
        stack = {
            "StackName": name,
            "StackId": ARN,
            "CreationTime": 0,
            "StackStatus": status,
            "Outputs": pairs,
            "EnableTerminationProtection": protected,
        }
        self.answer("cloudformation", "describe_stacks", {"Stacks": [stack]}, {"StackName": name})
        summaries = [
            {
                "LogicalResourceId": logical,
                "ResourceType": kind,
                "PhysicalResourceId": physical,
                "ResourceStatus": status[0] if status else "CREATE_COMPLETE",
                "LastUpdatedTimestamp": 0,
            }
            for logical, (kind, physical, *status) in (resources or {}).items()
        ]
        self.answer("cloudformation", "list_stack_resources", {"StackResourceSummaries": summaries})

    def answer_no_stack(self, name: str = "TrainingClusterStack") -> None:
        """Say that there is no such stack."""
        message = f"Stack with id {name} does not exist"
        self.stubs.reject("cloudformation", "describe_stacks", "ValidationError", message)

    def answer_quota(self, value: float, name: str = "", metric: str = "") -> None:
        """Say what a quota is, and the class of the metric of its usage."""
        quota: dict[str, Any] = {"Value": value, **({"QuotaName": name} if name else {})}
        if metric:
            dimensions = {"Service": "EC2", "Type": "Resource", "Resource": "vCPU", "Class": metric}
            quota["UsageMetric"] = {
                "MetricNamespace": "AWS/Usage",
                "MetricName": "ResourceCount",
                "MetricDimensions": dimensions,
            }
        self.answer("service-quotas", "get_service_quota", {"Quota": quota})

    def answer_metric(self, *values: float, statistic: str = "Maximum") -> None:
        """Give the samples of a metric, one a minute."""
        points = [{"Timestamp": 60 * number, statistic: value} for number, value in enumerate(values)]
        self.answer("cloudwatch", "get_metric_statistics", {"Datapoints": points})

    def answer_instances(self, *nodes: tuple[str, str], spot: bool = False) -> None:
        """Say which nodes run, each by its group and type."""
        lifecycle: dict[str, str] = {"InstanceLifecycle": "spot"} if spot else {}
        instances = [
            {"InstanceType": kind, "Tags": [{"Key": "training-cluster/node-group", "Value": group}], **lifecycle}
            for group, kind in nodes
        ]
        self.answer("ec2", "describe_instances", {"Reservations": [{"Instances": instances}]})

    def answer_parameter(self, name: str, value: str) -> None:
        """Give the value of a parameter of Systems Manager."""
        self.answer("ssm", "get_parameter", {"Parameter": {"Name": name, "Value": value}}, {"Name": name})

    def answer_subnets(self, *subnets: dict[str, Any]) -> None:
        """Say which subnets the region has, of those that are asked for."""
        self.answer("ec2", "describe_subnets", {"Subnets": list(subnets)})

    def answer_existing_lustre(self, **changes: Any) -> None:
        """Say what FSx knows of the file system of `EXISTING_LUSTRE`."""
        found = {
            "FileSystemId": EXISTING_LUSTRE["file_system_id"],
            "FileSystemType": "LUSTRE",
            "Lifecycle": "AVAILABLE",
            "StorageCapacity": 2400,
            "VpcId": EXISTING_VPC["vpc_id"],
            "SubnetIds": EXISTING_VPC["private_subnet_ids"][:1],
            "LustreConfiguration": {"MountName": "abcdefgh"},
            **changes,
        }
        expected = {"FileSystemIds": [EXISTING_LUSTRE["file_system_id"]]}
        self.answer("fsx", "describe_file_systems", {"FileSystems": [found]}, expected)

    def all_asked(self) -> None:
        """Reject a test whose answers were not all asked for."""
        self.stubs.all_asked()


def deployment(account: Account, **values: Any) -> Deployment:
    """Return a configuration with one node group of two nodes, changed by some values."""
    top: dict[str, Any] = {key: values.pop(key) for key in ClusterConfig.model_fields if key in values}
    if "existing_vpc" in top:
        top.setdefault("availability_zones", ["us-west-2a", "us-west-2b"])
    group = {"instance_type": "p5.48xlarge", "max_size": 2, **values}
    settings: dict[str, Any] = {"node_groups": {"gpu": group}, **top}
    return Deployment(
        config=ClusterConfig(**settings),
        account=account,
        cluster_stack="TrainingClusterStack",
        data_stack="TrainingDataStack",
    )
