from collections.abc import Callable, Sequence
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns

from tests.constructs.sagemaker.policy import is_allowed
from tests.constructs.site import properties
from training_cluster import (
    ElasticFileSystem,
    ImageRepository,
    LustreFileSystem,
    SageMakerTraining,
    TrainingBucket,
    TrainingNetwork,
)
from training_cluster.sagemaker.sagemaker_training import sagemaker_services
from training_workloads import InputError


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Stack")


@pytest.fixture
def vpc(stack: cdk.Stack) -> ec2.Vpc:
    return ec2.Vpc(stack, "Vpc", max_azs=2)


def define(stack: cdk.Stack, vpc: ec2.IVpc, **more: Any) -> SageMakerTraining:
    bucket, repository = TrainingBucket(stack, "Bucket"), ImageRepository(stack, "Images")
    return SageMakerTraining(stack, "Training", vpc=vpc, bucket=bucket, repository=repository, **more)


def ids(subnets: Sequence[ec2.ISubnet]) -> list[str]:
    return [subnet.node.path for subnet in subnets]


def rules(stack: cdk.Stack, kind: str) -> list[dict[str, Any]]:
    return properties(assertions.Template.from_stack(stack), f"AWS::EC2::SecurityGroup{kind}")


def test_the_hosts_reach_each_other_on_all_ports(stack: cdk.Stack, vpc: ec2.Vpc) -> None:
    """EFA needs rules that name the group, in both directions."""
    group = stack.resolve(define(stack, vpc).security_group.security_group_id)
    (inward,), (outward,) = rules(stack, "Ingress"), rules(stack, "Egress")
    assert (inward["GroupId"], inward["SourceSecurityGroupId"], inward["IpProtocol"]) == (group, group, "-1")
    assert (outward["GroupId"], outward["DestinationSecurityGroupId"], outward["IpProtocol"]) == (group, group, "-1")


def test_the_ports_of_lustre_are_open_in_both_directions(stack: cdk.Stack, vpc: ec2.Vpc) -> None:
    lustre = LustreFileSystem(stack, "Lustre", vpc=vpc, subnet=vpc.private_subnets[0])
    training = define(stack, vpc, lustre=lustre)
    hosts, servers = (stack.resolve(each.security_group.security_group_id) for each in (training, lustre))
    found = {
        (str(each["GroupId"]), str(each["SourceSecurityGroupId"]), each["FromPort"], each["ToPort"])
        for each in rules(stack, "Ingress")
        if each["IpProtocol"] == "tcp" and each["GroupId"] != each["SourceSecurityGroupId"]
    }
    ports = ((988, 988), (1018, 1023))
    ways = ((str(servers), str(hosts)), (str(hosts), str(servers)))
    assert found == {(*way, *port) for way in ways for port in ports}


def test_lustre_over_efa_is_open_too(stack: cdk.Stack, vpc: ec2.Vpc) -> None:
    lustre = LustreFileSystem(
        stack,
        "Lustre",
        vpc=vpc,
        subnet=vpc.private_subnets[0],
        efa=True,
        capacity_gib=4800,
        throughput_mbps_per_tib=1000,
    )
    training = define(stack, vpc, lustre=lustre)
    hosts, servers = (stack.resolve(each.security_group.security_group_id) for each in (training, lustre))
    everything = [each for each in rules(stack, "Egress") if each["IpProtocol"] == "-1"]
    ways = [(each["GroupId"], each["DestinationSecurityGroupId"]) for each in everything]
    assert (hosts, servers) in ways
    assert (servers, hosts) in ways


def test_the_port_of_efs_is_open(stack: cdk.Stack, vpc: ec2.Vpc) -> None:
    files = ElasticFileSystem(stack, "Efs", vpc=vpc, for_sagemaker=True)
    training = define(stack, vpc, elastic_file_system=files)
    hosts = stack.resolve(training.security_group.security_group_id)
    targets = stack.resolve(files.security_group.security_group_id)
    nfs = [each for each in rules(stack, "Ingress") if each.get("FromPort") == 2049]
    assert [(each["GroupId"], each["SourceSecurityGroupId"]) for each in nfs] == [(targets, hosts)]


def test_jobs_run_in_all_private_subnets_unless_some_are_given(stack: cdk.Stack, vpc: ec2.Vpc) -> None:
    assert ids(define(stack, vpc).subnets) == ids(vpc.private_subnets)
    other = cdk.Stack(cdk.App(), "Other")
    network = TrainingNetwork(other, "Network")
    assert ids(define(other, network, subnets=[network.training_subnet]).subnets) == ids([network.training_subnet])


def test_it_has_connections_and_is_a_grantee(stack: cdk.Stack, vpc: ec2.Vpc) -> None:
    training = define(stack, vpc)
    training.connections.allow_from(ec2.Peer.ipv4("10.0.0.0/8"), ec2.Port.tcp(6006))
    topic = sns.Topic(stack, "Topic")
    topic.grant_publish(training)
    template = assertions.Template.from_stack(stack)
    template.has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": assertions.Match.array_with(
                    [
                        assertions.Match.object_like(
                            {"Action": "sns:Publish", "Resource": {"Ref": stack.resolve(topic.topic_arn)["Ref"]}}
                        )
                    ]
                )
            }
        },
    )


def test_a_team_may_submit_jobs_with_this_role_only(stack: cdk.Stack, vpc: ec2.Vpc) -> None:
    team = iam.Role(stack, "Team", assumed_by=iam.AccountRootPrincipal())
    training = define(stack, vpc)
    training.grant_submit(team).assert_success()
    policies = properties(assertions.Template.from_stack(stack), "AWS::IAM::Policy")
    (policy,) = [each for each in policies if each["Roles"] == [stack.resolve(team.role_name)]]
    found = {str(each["Action"]): each for each in policy["PolicyDocument"]["Statement"]}
    passing = found["iam:PassRole"]
    assert passing["Resource"] == stack.resolve(training.role.role_arn)
    assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
    actions = {
        name for each in policy["PolicyDocument"]["Statement"] for name in [each["Action"]] if isinstance(name, str)
    }
    jobs = {"sagemaker:CreateTrainingJob", "sagemaker:AddTags"}
    assert actions == {"iam:PassRole", "ecr:DescribeImages", "cloudformation:DescribeStacks"} | jobs
    assert all(each["Resource"] != "*" for each in policy["PolicyDocument"]["Statement"])


TAG = "training-cluster:jobs-of"


@pytest.fixture
def team(stack: cdk.Stack, vpc: ec2.Vpc) -> Callable[..., bool]:
    """Return whether a team with `grant_submit` may do something with jobs, by IAM's condition keys."""
    role = iam.Role(stack, "Team", assumed_by=iam.AccountRootPrincipal())
    training = define(stack, vpc)
    training.grant_submit(role)
    policies = properties(assertions.Template.from_stack(stack), "AWS::IAM::Policy")
    (policy,) = [each for each in policies if each["Roles"] == [stack.resolve(role.role_name)]]
    own = {
        "sagemaker:VpcSubnets": stack.resolve([subnet.subnet_id for subnet in training.subnets]),
        "sagemaker:VpcSecurityGroupIds": [stack.resolve(training.security_group.security_group_id)],
        f"aws:RequestTag/{TAG}": training.job_tag,
        f"aws:ResourceTag/{TAG}": training.job_tag,
    }

    def may(action: str, *keys: str, **others: Any) -> bool:
        context = {key: own[key] for key in keys} | others
        return is_allowed(policy["PolicyDocument"]["Statement"], f"sagemaker:{action}", context)

    return may


SUBNETS, GROUPS, REQUEST, RESOURCE = (
    "sagemaker:VpcSubnets",
    "sagemaker:VpcSecurityGroupIds",
    f"aws:RequestTag/{TAG}",
    f"aws:ResourceTag/{TAG}",
)


def test_a_team_starts_jobs_in_this_network_with_its_tag_alone(team: Callable[..., bool]) -> None:
    assert team("CreateTrainingJob", SUBNETS, GROUPS, REQUEST)
    assert not team("CreateTrainingJob", REQUEST)
    assert not team("CreateTrainingJob", SUBNETS, REQUEST)
    assert not team("CreateTrainingJob", SUBNETS, GROUPS)
    assert not team("CreateTrainingJob", SUBNETS, GROUPS, **{REQUEST: "Other"})
    assert not team("CreateTrainingJob", GROUPS, REQUEST, **{SUBNETS: ["subnet-0123456789abcdef0"]})
    assert not team("CreateTrainingJob", SUBNETS, REQUEST, **{GROUPS: ["sg-0123456789abcdef0"]})


@pytest.mark.parametrize("action", ["DescribeTrainingJob", "StopTrainingJob"])
def test_a_team_shows_and_stops_its_own_jobs_alone(action: str, team: Callable[..., bool]) -> None:
    assert team(action, RESOURCE)
    assert not team(action)
    assert not team(action, **{RESOURCE: "Other"})


def test_a_team_cannot_make_the_job_of_another_its_own(team: Callable[..., bool]) -> None:
    creation = {"sagemaker:TaggingAction": "CreateTrainingJob"}
    assert team("AddTags", REQUEST, **creation)
    assert not team("AddTags", REQUEST)
    assert not team("AddTags", **creation, **{REQUEST: "Other"})
    assert not team("DeleteTags", RESOURCE)


def test_two_trainings_have_two_tags(stack: cdk.Stack, vpc: ec2.Vpc) -> None:
    first = define(stack, vpc)
    second = SageMakerTraining(stack, "Second", vpc=vpc, bucket=first.bucket, repository=first.repository)
    assert first.job_tag != second.job_tag
    assert not cdk.Token.is_unresolved(first.job_tag)


def test_a_vpc_without_internet_leads_to_what_jobs_and_notebooks_call() -> None:
    assert {each.short_name for each in sagemaker_services().values()} == {
        "ecr.api",
        "ecr.dkr",
        "logs",
        "sagemaker.api",
        "sts",
    }
    assert {each.short_name for each in sagemaker_services(notebook=True).values()} >= {"cloudformation"}


def test_a_network_has_the_endpoints_that_it_is_given(stack: cdk.Stack) -> None:
    TrainingNetwork(stack, "Network", nat=False, services=sagemaker_services())
    endpoints = properties(assertions.Template.from_stack(stack), "AWS::EC2::VPCEndpoint")
    names = {str(each["ServiceName"]["Fn::Join"][1][-1]).lstrip(".") for each in endpoints}
    assert names == {"s3", "ecr.api", "ecr.dkr", "logs", "sagemaker.api", "sts"}
    assertions.Annotations.from_stack(stack).has_no_warning("*", assertions.Match.string_like_regexp(".*charts.*"))


def test_rejects_what_is_of_another_type(stack: cdk.Stack) -> None:
    with pytest.raises(InputError) as caught:
        define(stack, "vpc-0123456789abcdef0", subnets="a", lustre="fs-1", elastic_file_system="fs-2")  # type: ignore[arg-type]
    assert [problem.path for problem in caught.value.problems] == [
        ("vpc",),
        ("subnets",),
        ("lustre",),
        ("elastic_file_system",),
    ]


def test_rejects_a_vpc_without_private_subnets(stack: cdk.Stack) -> None:
    public = ec2.SubnetConfiguration(name="Public", subnet_type=ec2.SubnetType.PUBLIC)
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2, subnet_configuration=[public])
    with pytest.raises(InputError, match="'subnets' is missing, but the VPC has no private subnet"):
        define(stack, vpc)
