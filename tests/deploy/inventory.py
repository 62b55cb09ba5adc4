"""What an account has in a region, by service, to find what a deployment has left behind."""

from collections.abc import Iterable

from tests.deploy.aws_account import Aws

#: Service, operation, the list of the answer, and the field that names an element.
LISTS = (
    ("ec2", "describe_vpcs", "Vpcs", "VpcId"),
    ("ec2", "describe_subnets", "Subnets", "SubnetId"),
    ("ec2", "describe_route_tables", "RouteTables", "RouteTableId"),
    ("ec2", "describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    ("ec2", "describe_security_groups", "SecurityGroups", "GroupId"),
    ("ec2", "describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
    ("ec2", "describe_placement_groups", "PlacementGroups", "GroupName"),
    ("ec2", "describe_addresses", "Addresses", "PublicIp"),
    ("ec2", "describe_flow_logs", "FlowLogs", "FlowLogId"),
    ("fsx", "describe_file_systems", "FileSystems", "FileSystemId"),
    ("fsx", "describe_data_repository_associations", "Associations", "AssociationId"),
    ("efs", "describe_file_systems", "FileSystems", "FileSystemId"),
    ("iam", "list_roles", "Roles", "RoleName"),
    ("lambda", "list_functions", "Functions", "FunctionName"),
    ("lambda", "list_layers", "Layers", "LayerName"),
    ("sagemaker", "list_notebook_instances", "NotebookInstances", "NotebookInstanceArn"),
    ("logs", "describe_log_groups", "logGroups", "logGroupName"),
    ("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
    ("cloudwatch", "list_dashboards", "DashboardEntries", "DashboardName"),
    ("ssm", "describe_parameters", "Parameters", "Name"),
    ("sns", "list_topics", "Topics", "TopicArn"),
    ("s3", "list_buckets", "Buckets", "Name"),
    ("ecr", "describe_repositories", "repositories", "repositoryName"),
)
#: Lists of names.
NAMES = (("eks", "list_clusters", "clusters"), ("codebuild", "list_projects", "projects"))


def inventory(aws: Aws) -> set[str]:
    """Return everything, each as service/name."""
    found = set(_elsewhere(aws))
    for service, operation, field, name in LISTS:
        found |= {f"{service}/{each[name]}" for each in getattr(aws(service), operation)()[field]}
    for service, operation, field in NAMES:
        found |= {f"{service}/{each}" for each in getattr(aws(service), operation)()[field]}
    return found


def _elsewhere(aws: Aws) -> Iterable[str]:
    """Return the resources that stay listed for a while after their deletion, without the deleted ones."""
    for gateway in aws("ec2").describe_nat_gateways()["NatGateways"]:
        if gateway["State"] != "deleted":
            yield f"ec2/{gateway['NatGatewayId']}"
    for endpoint in aws("ec2").describe_vpc_endpoints()["VpcEndpoints"]:
        if endpoint["State"] != "deleted":
            yield f"ec2/{endpoint['VpcEndpointId']}"
    kms = aws("kms")
    for page in kms.get_paginator("list_keys").paginate():
        for key in page["Keys"]:
            if kms.describe_key(KeyId=key["KeyId"])["KeyMetadata"]["KeyState"] != "PendingDeletion":
                yield f"kms/{key['KeyId']}"
    for budget in aws("budgets").describe_budgets(AccountId=aws.account).get("Budgets", []):
        yield f"budgets/{budget['BudgetName']}"
