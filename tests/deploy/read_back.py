"""Read a deployed resource with boto3, in the form of the template."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.deploy.aws_account import Aws

Properties = dict[str, Any]


@dataclass(frozen=True)
class Resource:
    """A resource of a deployed stack: its properties have every reference resolved."""

    logical_id: str
    physical_id: str
    type: str
    properties: Properties


@dataclass(frozen=True)
class Unknown:
    """A value that only CloudFormation knows, such as an attribute that no answer of AWS has: it equals every other."""


Reader = Callable[[Aws, Resource], Properties]
READERS: dict[str, Reader] = {}

#: What no answer has, in AWS or in the emulator.
NOT_IN_ANSWERS = {
    # Options of one operation.
    "AWS::EKS::Addon": {"ResolveConflicts", "PreserveOnDelete"},
    "AWS::EKS::Nodegroup": {"ForceUpdateEnabled"},
    "AWS::EKS::Cluster": {"BootstrapSelfManagedAddons", "AccessConfig.BootstrapClusterCreatorAdminPermissions"},
    "AWS::FSx::FileSystem": {"SecurityGroupIds"},
    # The emulator leaves these out of its answers.
    "AWS::EKS::Cluster/emulator": {"ComputeConfig", "StorageConfig", "KubernetesNetworkConfig.ElasticLoadBalancing"},
    "AWS::EC2::FlowLog": {"DeliverLogsPermissionArn", "ResourceType", "LogGroupName"},
    "AWS::EC2::NatGateway": {"AllocationId"},
    "AWS::Logs::LogGroup": {"Tags"},
    "AWS::SNS::Topic": {"KmsMasterKeyId"},
    # The emulator answers AES256 for every bucket; the rest differs in form from the API's.
    "AWS::S3::Bucket": {
        "AccessControl",
        "BucketEncryption",
        "LifecycleConfiguration",
        "LoggingConfiguration",
        "OwnershipControls",
        "Tags",
    },
}


def reads(type_name: str) -> Callable[[Reader], Reader]:
    """Register the reader of a type."""

    def register(reader: Reader) -> Reader:
        READERS[type_name] = reader
        return reader

    return register


def read(aws: Aws, resource: Resource) -> Properties:
    """Return the properties that a resource has in AWS."""
    return _without_stack_tags(READERS[resource.type](aws, resource))


#: Names of lists of tags.
_TAGS = ("Tags", "FileSystemTags", "AccessPointTags")


def _without_stack_tags(found: Properties) -> Properties:
    """Leave out the tags that CloudFormation adds."""
    listed = {key: found[key] for key in _TAGS if isinstance(found.get(key), list)}
    return found | {
        key: [tag for tag in tags if not tag["Key"].startswith("aws:cloudformation:")] for key, tags in listed.items()
    }


def wrong(resource: Resource, actual: Properties) -> list[str]:
    """Return the properties of the template that AWS has with another value, or not at all."""
    left_out = NOT_IN_ANSWERS.get(resource.type, set()) | NOT_IN_ANSWERS.get(f"{resource.type}/emulator", set())
    return [
        f"{resource.logical_id} ({resource.type}): {line}"
        for path, line in _differences("", resource.properties, actual)
        if not any(path == each or path.startswith(f"{each}.") for each in left_out)
    ]


def _differences(path: str, wanted: Any, actual: Any) -> Iterator[tuple[str, str]]:
    if isinstance(wanted, Unknown):
        return
    if isinstance(wanted, dict) and isinstance(actual, dict):
        for key, value in wanted.items():
            yield from _differences(f"{path}.{key}".lstrip("."), value, actual.get(key))
    elif isinstance(wanted, list) and isinstance(actual, list) and len(wanted) == len(actual):
        for index, (one, other) in enumerate(zip(wanted, actual, strict=True)):
            yield from _differences(f"{path}.{index}", one, other)
    elif _text(wanted) != _text(actual):
        yield path, f"{path} is {actual!r}, but the template has {wanted!r}"


def _text(value: Any) -> str:
    """Return a value as text: a template may have 3 or "3", true or "true", a policy as an object or as text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, sort_keys=True, default=repr) if isinstance(value, dict | list) else str(value)


#: Their keys are the user's.
_MAPS = {"labels", "tags"}


def pascal(value: Any) -> Any:
    """Return an answer of EKS with the names of templates: the first letter is a capital."""
    if isinstance(value, list):
        return [pascal(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key[:1].upper() + key[1:]: item if key in _MAPS else pascal(item) for key, item in value.items()}


@reads("AWS::EKS::Cluster")
def _cluster(aws: Aws, resource: Resource) -> Properties:
    found: Properties = pascal(aws("eks").describe_cluster(name=resource.physical_id)["cluster"])
    logs = [kind for each in found["Logging"]["ClusterLogging"] if each["Enabled"] for kind in each["Types"]]
    return found | {"Logging": {"ClusterLogging": {"EnabledTypes": [{"Type": kind} for kind in logs]}}}


@reads("AWS::EKS::Nodegroup")
def _node_group(aws: Aws, resource: Resource) -> Properties:
    cluster = resource.properties["ClusterName"]
    answer = aws("eks").describe_nodegroup(clusterName=cluster, nodegroupName=resource.physical_id)
    found: Properties = pascal(answer["nodegroup"])
    return found


@reads("AWS::EKS::Addon")
def _addon(aws: Aws, resource: Resource) -> Properties:
    cluster, name = resource.physical_id.split("|")
    found: Properties = pascal(aws("eks").describe_addon(clusterName=cluster, addonName=name)["addon"])
    return found


@reads("AWS::EKS::AccessEntry")
def _access_entry(aws: Aws, resource: Resource) -> Properties:
    principal, cluster = resource.physical_id.split("|")
    entry = pascal(aws("eks").describe_access_entry(clusterName=cluster, principalArn=principal)["accessEntry"])
    policies = aws("eks").list_associated_access_policies(clusterName=cluster, principalArn=principal)
    found: Properties = entry | {"AccessPolicies": pascal(policies["associatedAccessPolicies"])}
    return found


@reads("AWS::EKS::PodIdentityAssociation")
def _pod_identity(aws: Aws, resource: Resource) -> Properties:
    cluster = resource.properties["ClusterName"]
    answer = aws("eks").describe_pod_identity_association(clusterName=cluster, associationId=resource.physical_id)
    found: Properties = pascal(answer["association"])
    return found


@reads("AWS::EC2::LaunchTemplate")
def _launch_template(aws: Aws, resource: Resource) -> Properties:
    answer = aws("ec2").describe_launch_template_versions(LaunchTemplateId=resource.physical_id, Versions=["$Latest"])
    (version,) = answer["LaunchTemplateVersions"]
    found = {"LaunchTemplateData": version["LaunchTemplateData"]}
    if "TagSpecifications" in resource.properties:
        (template,) = aws("ec2").describe_launch_templates(LaunchTemplateIds=[resource.physical_id])["LaunchTemplates"]
        found["TagSpecifications"] = [{"ResourceType": "launch-template", "Tags": template.get("Tags", [])}]
    return found


def _one(answer: Any) -> Properties:
    """Return the only element of the only list of an answer."""
    (elements,) = (value for value in answer.values() if isinstance(value, list))
    (element,) = elements
    found: Properties = element
    return found


@reads("AWS::EC2::PlacementGroup")
def _placement_group(aws: Aws, resource: Resource) -> Properties:
    return _one(aws("ec2").describe_placement_groups(GroupNames=[resource.physical_id]))


@reads("AWS::EC2::VPC")
def _vpc(aws: Aws, resource: Resource) -> Properties:
    found = _one(aws("ec2").describe_vpcs(VpcIds=[resource.physical_id]))
    for name in ("EnableDnsHostnames", "EnableDnsSupport"):
        attribute = name[0].lower() + name[1:]
        found[name] = aws("ec2").describe_vpc_attribute(VpcId=resource.physical_id, Attribute=attribute)[name]["Value"]
    return found


@reads("AWS::EC2::Subnet")
def _subnet(aws: Aws, resource: Resource) -> Properties:
    return _one(aws("ec2").describe_subnets(SubnetIds=[resource.physical_id]))


@reads("AWS::EC2::NatGateway")
def _nat_gateway(aws: Aws, resource: Resource) -> Properties:
    found = _one(aws("ec2").describe_nat_gateways(NatGatewayIds=[resource.physical_id]))
    assert found["State"] == "available"
    return found


@reads("AWS::EC2::EIP")
def _address(aws: Aws, resource: Resource) -> Properties:
    addresses = aws("ec2").describe_addresses()["Addresses"]
    (found,) = (each for each in addresses if each["PublicIp"] == resource.physical_id)
    return dict(found)


@reads("AWS::EC2::FlowLog")
def _flow_log(aws: Aws, resource: Resource) -> Properties:
    return _one(aws("ec2").describe_flow_logs(FlowLogIds=[resource.physical_id]))


@reads("AWS::EC2::SecurityGroupIngress")
def _ingress(aws: Aws, resource: Resource) -> Properties:
    return _rule(aws, resource, "IpPermissions", "SourceSecurityGroupId")


@reads("AWS::EC2::SecurityGroupEgress")
def _egress(aws: Aws, resource: Resource) -> Properties:
    return _rule(aws, resource, "IpPermissionsEgress", "DestinationSecurityGroupId")


def _rule(aws: Aws, resource: Resource, direction: str, other: str) -> Properties:
    """Return the rule of the group that is the template's, or what the group has."""
    group = resource.properties["GroupId"]
    permissions = _one(aws("ec2").describe_security_groups(GroupIds=[group]))[direction]
    rules = []
    for each in permissions:
        rule = {key: each[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in each} | {"GroupId": group}
        rules += [rule | pair | {other: pair["GroupId"], "GroupId": group} for pair in each["UserIdGroupPairs"]]
        rules += [rule | each_range for each_range in each["IpRanges"]]
    return next((rule for rule in rules if not wrong(resource, rule)), {"GroupId": group, "Rules": rules})


@reads("AWS::FSx::FileSystem")
def _lustre(aws: Aws, resource: Resource) -> Properties:
    return _one(aws("fsx").describe_file_systems(FileSystemIds=[resource.physical_id]))


@reads("AWS::FSx::DataRepositoryAssociation")
def _link(aws: Aws, resource: Resource) -> Properties:
    return _one(aws("fsx").describe_data_repository_associations(AssociationIds=[resource.physical_id]))


@reads("AWS::EFS::FileSystem")
def _elastic_file_system(aws: Aws, resource: Resource) -> Properties:
    efs = aws("efs")
    found = _one(efs.describe_file_systems(FileSystemId=resource.physical_id))
    name = {"FileSystemId": resource.physical_id}
    policies = efs.describe_lifecycle_configuration(**name)["LifecyclePolicies"]
    found |= {"LifecyclePolicies": policies, "FileSystemTags": found["Tags"]}
    if "BackupPolicy" in resource.properties:
        found["BackupPolicy"] = efs.describe_backup_policy(**name)["BackupPolicy"]
    if "FileSystemPolicy" in resource.properties:
        found["FileSystemPolicy"] = json.loads(efs.describe_file_system_policy(**name)["Policy"])
    return found


@reads("AWS::EFS::MountTarget")
def _mount_target(aws: Aws, resource: Resource) -> Properties:
    found = _one(aws("efs").describe_mount_targets(MountTargetId=resource.physical_id))
    groups = aws("efs").describe_mount_target_security_groups(MountTargetId=resource.physical_id)
    return found | {"SecurityGroups": groups["SecurityGroups"]}


@reads("AWS::EFS::AccessPoint")
def _access_point(aws: Aws, resource: Resource) -> Properties:
    found = _one(aws("efs").describe_access_points(AccessPointId=resource.physical_id))
    return found | {"AccessPointTags": found["Tags"]}


@reads("AWS::SageMaker::NotebookInstance")
def _notebook_instance(aws: Aws, resource: Resource) -> Properties:
    name = resource.physical_id.rpartition("/")[2]
    found: Properties = aws("sagemaker").describe_notebook_instance(NotebookInstanceName=name)
    return found | {"SecurityGroupIds": found["SecurityGroups"]}


@reads("AWS::SNS::Topic")
def _topic(aws: Aws, resource: Resource) -> Properties:
    found: Properties = aws("sns").get_topic_attributes(TopicArn=resource.physical_id)["Attributes"]
    return found


@reads("AWS::SNS::Subscription")
def _subscription(aws: Aws, resource: Resource) -> Properties:
    found = aws("sns").list_subscriptions_by_topic(TopicArn=resource.properties["TopicArn"])["Subscriptions"]
    (wanted,) = (each for each in found if each["Endpoint"] == resource.properties["Endpoint"])
    return dict(wanted)


@reads("AWS::IAM::Role")
def _role(aws: Aws, resource: Resource) -> Properties:
    found: Properties = aws("iam").get_role(RoleName=resource.physical_id)["Role"]
    attached = aws("iam").list_attached_role_policies(RoleName=resource.physical_id)["AttachedPolicies"]
    inline = []
    if "Policies" in resource.properties:
        for each in resource.properties["Policies"]:
            answer = aws("iam").get_role_policy(RoleName=resource.physical_id, PolicyName=each["PolicyName"])
            inline.append({"PolicyName": answer["PolicyName"], "PolicyDocument": answer["PolicyDocument"]})
    return found | {"ManagedPolicyArns": [each["PolicyArn"] for each in attached], "Policies": inline}


@reads("AWS::IAM::Policy")
def _policy(aws: Aws, resource: Resource) -> Properties:
    name, roles = resource.properties["PolicyName"], resource.properties["Roles"]
    documents = [aws("iam").get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for role in roles]
    assert all(document == documents[0] for document in documents)
    return {"PolicyName": name, "Roles": roles, "PolicyDocument": documents[0]}


@reads("AWS::KMS::Key")
def _key(aws: Aws, resource: Resource) -> Properties:
    kms, name = aws("kms"), resource.physical_id
    return {
        **kms.describe_key(KeyId=name)["KeyMetadata"],
        "KeyPolicy": json.loads(kms.get_key_policy(KeyId=name, PolicyName="default")["Policy"]),
        "EnableKeyRotation": kms.get_key_rotation_status(KeyId=name)["KeyRotationEnabled"],
    }


@reads("AWS::Logs::LogGroup")
def _log_group(aws: Aws, resource: Resource) -> Properties:
    groups = aws("logs").describe_log_groups(logGroupNamePrefix=resource.physical_id)["logGroups"]
    (found,) = (each for each in groups if each["logGroupName"] == resource.physical_id)
    return {"RetentionInDays": found.get("retentionInDays"), "KmsKeyId": found.get("kmsKeyId"), **pascal(found)}


@reads("AWS::CloudWatch::Alarm")
def _alarm(aws: Aws, resource: Resource) -> Properties:
    return _one({"alarms": aws("cloudwatch").describe_alarms(AlarmNames=[resource.physical_id])["MetricAlarms"]})


@reads("AWS::S3::Bucket")
def _bucket(aws: Aws, resource: Resource) -> Properties:
    s3, name = aws("s3"), {"Bucket": resource.physical_id}
    block = s3.get_public_access_block(**name)["PublicAccessBlockConfiguration"]
    versioning = {"Status": s3.get_bucket_versioning(**name).get("Status")}
    return {"PublicAccessBlockConfiguration": block, "VersioningConfiguration": versioning}


@reads("AWS::S3::BucketPolicy")
def _bucket_policy(aws: Aws, resource: Resource) -> Properties:
    bucket = resource.properties["Bucket"]
    return {"Bucket": bucket, "PolicyDocument": json.loads(aws("s3").get_bucket_policy(Bucket=bucket)["Policy"])}


@reads("AWS::ECR::Repository")
def _repository(aws: Aws, resource: Resource) -> Properties:
    found = _one(aws("ecr").describe_repositories(repositoryNames=[resource.physical_id]))
    name = {"repositoryName": resource.physical_id}
    return {
        "LifecyclePolicy": {"LifecyclePolicyText": aws("ecr").get_lifecycle_policy(**name)["lifecyclePolicyText"]},
        "ImageTagMutability": found["imageTagMutability"],
        "ImageScanningConfiguration": pascal(found["imageScanningConfiguration"]),
        "EncryptionConfiguration": pascal(found.get("encryptionConfiguration")),
    }


def user_data(resource: Resource) -> str:
    """Return the user data of a launch template as text."""
    return base64.b64decode(resource.properties["LaunchTemplateData"]["UserData"]).decode()
