"""What the emulator's clusters and node groups leave out: encryption, VPC, security group, repair, type of capacity.

It also accepts updates of node groups that EKS rejects.
"""

from typing import Any

from ministack.services import ec2, eks
from ministack.services.cloudformation import provisioners

from tests.deploy.emulated_aws.node_group_updates import (
    REPLACING,
    STATUS_TAG,
    changed,
    rejection,
    rejection_of_state,
)
from tests.deploy.emulated_aws.registration import Properties, camel, existing, extend

CLUSTER_FIELDS = ("EncryptionConfig", "ComputeConfig", "StorageConfig", "UpgradePolicy", "DeletionProtection")
GROUP_FIELDS = ("CapacityType", "NodeRepairConfig")


def complete_cluster(name: str, properties: Properties) -> None:
    """Add the fields, and a real security group in the place of the invented id."""
    cluster = eks._clusters[name]
    cluster.update(camel({key: properties[key] for key in CLUSTER_FIELDS if key in properties}))
    network = cluster["resourcesVpcConfig"]
    subnets = [existing(ec2._subnets, subnet, "the subnet") for subnet in network["subnetIds"]]
    network["vpcId"] = subnets[0]["VpcId"]
    group = network["clusterSecurityGroupId"]
    ec2._security_groups.setdefault(group, security_group(group, name, network["vpcId"], subnets[0]["OwnerId"]))


def security_group(group: str, cluster: str, vpc: str, owner: str) -> Properties:
    """Return the group that EKS makes: everything from itself, and to every address."""
    return {
        "GroupId": group,
        "GroupName": f"eks-cluster-sg-{cluster}",
        "Description": "EKS created security group",
        "VpcId": vpc,
        "OwnerId": owner,
        "IpPermissions": provisioners._ec2_sg_permissions([{"IpProtocol": "-1", "SourceSecurityGroupId": group}]),
        "IpPermissionsEgress": provisioners._ec2_sg_permissions([{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}]),
    }


def remove_security_group(name: str, properties: Properties) -> None:
    """Delete the group with its cluster."""
    ec2._security_groups.pop(eks._clusters[name]["resourcesVpcConfig"]["clusterSecurityGroupId"], None)


def complete_node_group(name: str, properties: Properties) -> None:
    """Add the fields, and fail if the launch template, its version or a security group of it does not exist."""
    cluster = properties["ClusterName"]
    group = eks._nodegroups[f"{cluster}/{name}"]
    group.update(camel({key: properties[key] for key in GROUP_FIELDS if key in properties}))
    named = properties["LaunchTemplate"]
    template = existing(ec2._launch_templates, named["Id"], "the launch template")
    versions = {str(version["VersionNumber"]): version for version in template["Versions"]}
    data = existing(versions, str(named["Version"]), "the version of the launch template")["LaunchTemplateData"]
    for interface in data.get("NetworkInterfaces", []):
        for security_group in interface.get("Groups", []):
            existing(ec2._security_groups, security_group, "the security group")
    if placement := data.get("Placement"):
        existing(ec2._placement_groups, placement["GroupName"], "the placement group")


def check_update(name: str, old: Properties, new: Properties) -> None:
    """Fail as CloudFormation does where EKS has no single call for the change, or as EKS does in the group's state."""
    properties = changed(old, new)
    group = eks._nodegroups[f"{old['ClusterName']}/{name}"]
    state = rejection_of_state(
        properties, group["status"], group.get("capacityType"), group["scalingConfig"].get("desiredSize", 0)
    )
    if message := rejection(properties) or state:
        raise ValueError(f"{message} ({', '.join(sorted(properties))})")
    if not properties & REPLACING and old["LaunchTemplate"]["Id"] != new["LaunchTemplate"]["Id"]:
        raise ValueError("the launch template of a node group can have another version, but not be another one")


def tag_resource(arn: str, body: Properties) -> Any:
    """Tag a resource; a tag with the name of this emulator gives a node group a state that AWS gives to broken ones."""
    response = _tag_resource(arn, body)
    if status := body.get("tags", {}).get(STATUS_TAG):
        for group in eks._nodegroups.values():
            if group["nodegroupArn"] == arn:
                group["status"] = status
    return response


_tag_resource = eks._tag_resource
eks._tag_resource = tag_resource

extend("AWS::EKS::Cluster", after=complete_cluster, before_deletion=remove_security_group)
extend("AWS::EKS::Nodegroup", after=complete_node_group, before_update=check_update)
