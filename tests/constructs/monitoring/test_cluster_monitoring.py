import json
from typing import Any

import pytest
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Annotations, Match, Template

from tests.constructs.site import Site, properties
from training_cluster.monitoring.cluster_monitoring import ClusterMonitoring
from training_cluster.storage.lustre_file_system import LustreFileSystem
from training_cluster.storage.lustre_volume import ExistingLustreFileSystem
from training_workloads import InputError


def monitoring(site: Site, **options: Any) -> ClusterMonitoring:
    lustre = LustreFileSystem(
        site.stack,
        "Lustre",
        vpc=site.vpc,
        subnet=site.subnet,
        clients=site.cluster.cluster_security_group,
        bucket=s3.Bucket(site.stack, "Bucket"),
    )
    return ClusterMonitoring(site.stack, "Monitoring", cluster=site.cluster, file_system=lustre, **options)


def only(template: Template, kind: str) -> dict[str, Any]:
    (resource,) = template.find_resources(kind).values()
    return dict(resource)


def test_the_addon_sends_gpu_and_efa_metrics_and_nothing_of_application_signals(site: Site) -> None:
    monitoring(site)
    addon = only(site.template(), "AWS::EKS::Addon")["Properties"]
    assert addon["AddonName"] == "amazon-cloudwatch-observability"
    assert addon["PreserveOnDelete"] is False
    assert json.loads(addon["ConfigurationValues"]) == {
        "agent": {
            "config": {
                "logs": {
                    "metrics_collected": {
                        "kubernetes": {"enhanced_container_insights": True, "accelerated_compute_metrics": True}
                    }
                }
            }
        }
    }


def test_its_agent_gets_aws_policy_through_pod_identity(site: Site) -> None:
    monitoring(site)
    template = site.template()
    association = only(template, "AWS::EKS::PodIdentityAssociation")["Properties"]
    assert (association["Namespace"], association["ServiceAccount"]) == ("amazon-cloudwatch", "cloudwatch-agent")
    role = template.find_resources("AWS::IAM::Role")[association["RoleArn"]["Fn::GetAtt"][0]]["Properties"]
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert statement["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    (policy,) = role["ManagedPolicyArns"]
    assert policy["Fn::Join"][1][-1] == ":iam::aws:policy/CloudWatchAgentServerPolicy"


def test_logs_are_kept_for_a_month_and_those_of_jobs_outlive_the_cluster(site: Site) -> None:
    monitoring(site)
    groups = site.template().find_resources("AWS::Logs::LogGroup").values()
    names = {group["Properties"]["LogGroupName"]["Fn::Join"][1][-1] for group in groups}
    assert names == {"/application", "/dataplane", "/host", "/performance"}
    assert {group["Properties"]["LogGroupName"]["Fn::Join"][1][0] for group in groups} == {"/aws/containerinsights/"}
    assert {group["Properties"]["RetentionInDays"] for group in groups} == {30}
    policies = {group["Properties"]["LogGroupName"]["Fn::Join"][1][-1]: group["DeletionPolicy"] for group in groups}
    assert policies.pop("/application") == "Retain"
    assert set(policies.values()) == {"Delete"}
    assert not any("KmsKeyId" in group["Properties"] for group in groups)


def test_log_groups_and_role_are_there_before_the_first_pod(site: Site) -> None:
    monitoring(site)
    template = site.template()
    first = {
        *template.find_resources("AWS::Logs::LogGroup"),
        *template.find_resources("AWS::EKS::PodIdentityAssociation"),
    }
    assert len(first) == 5
    assert first <= set(only(template, "AWS::EKS::Addon")["DependsOn"])


def test_xids_are_counted_in_the_kernel_log_for_each_cluster_apart(site: Site) -> None:
    monitoring(site)
    template = site.template()
    counter = only(template, "AWS::Logs::MetricFilter")["Properties"]
    assert counter["FilterPattern"] == '"NVRM: Xid"'
    log_group = template.find_resources("AWS::Logs::LogGroup")[counter["LogGroupName"]["Ref"]]
    assert log_group["Properties"]["LogGroupName"]["Fn::Join"][1][-1] == "/host"
    (metric,) = counter["MetricTransformations"]
    prefix, cluster = metric["MetricNamespace"]["Fn::Join"][1]
    assert (prefix, metric["MetricName"], metric["MetricValue"]) == ("TrainingCluster/", "GpuXidErrors", "1")
    assert cluster["Ref"] in template.find_resources("AWS::EKS::Cluster")


def test_without_an_address_nobody_is_told_and_no_topic_is_made(site: Site) -> None:
    assert monitoring(site).alarms.topic is None
    template = site.template()
    template.resource_count_is("AWS::SNS::Topic", 0)
    template.resource_count_is("AWS::KMS::Key", 0)
    template.resource_count_is("AWS::CloudWatch::Alarm", 4)
    template.resource_count_is("AWS::CloudWatch::Dashboard", 1)


def test_one_key_for_logs_and_mails(site: Site) -> None:
    monitoring(site, alarm_email="team@example.com", encryption_key=kms.Key(site.stack, "Key"))
    template = site.template()
    (key_id,) = template.find_resources("AWS::KMS::Key")
    key_arn = {"Fn::GetAtt": [key_id, "Arn"]}
    assert [group["KmsKeyId"] for group in properties(template, "AWS::Logs::LogGroup")] == [key_arn] * 4
    assert only(template, "AWS::SNS::Topic")["Properties"]["KmsMasterKeyId"] == key_arn
    statements = only(template, "AWS::KMS::Key")["Properties"]["KeyPolicy"]["Statement"]
    services = [statement["Principal"].get("Service") for statement in statements]
    assert "cloudwatch.amazonaws.com" in services
    assert {"Fn::Join": ["", ["logs.", {"Ref": "AWS::Region"}, ".amazonaws.com"]]} in services
    (of_logs,) = (statement["Condition"] for statement in statements if "Condition" in statement)
    (groups,) = of_logs["ArnLike"].values()
    assert groups["Fn::Join"][1][-1] == ":log-group:/aws/containerinsights/*"


def test_an_address_that_is_none(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        monitoring(site, alarm_email="the team")
    assert str(caught.value) == "'alarm_email' is 'the team'; give one email address, such as team@example.com"


def test_it_synthesizes_without_a_warning(site: Site) -> None:
    monitoring(site, alarm_email="team@example.com")
    Annotations.from_stack(site.stack).has_no_warning("*", Match.any_value())


def test_without_a_file_system_nothing_of_one_is_shown(site: Site) -> None:
    made = ClusterMonitoring(site.stack, "Monitoring", cluster=site.cluster)
    assert made.alarms.lustre_nearly_full is None
    template = site.template()
    template.resource_count_is("AWS::CloudWatch::Alarm", 3)
    assert "Lustre" not in json.dumps(only(template, "AWS::CloudWatch::Dashboard"))


def test_a_file_system_that_was_made_elsewhere(site: Site) -> None:
    existing = ExistingLustreFileSystem(
        file_system_id="fs-0123456789abcdef0",
        dns_name="fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        mount_name="abcdefgh",
        capacity_gib=2400,
    )
    ClusterMonitoring(site.stack, "Monitoring", cluster=site.cluster, file_system=existing)
    template = site.template()
    (alarm,) = (
        each["Properties"]["Metrics"]
        for id, each in template.find_resources("AWS::CloudWatch::Alarm").items()
        if "LustreNearlyFull" in id
    )
    assert alarm[0]["Expression"] == "100 * free / (2400 * 1073741824)"
    assert alarm[1]["MetricStat"]["Metric"]["Dimensions"] == [{"Name": "FileSystemId", "Value": "fs-0123456789abcdef0"}]
    assert "fs-0123456789abcdef0" in json.dumps(only(template, "AWS::CloudWatch::Dashboard"))


def test_a_file_system_by_its_id(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        ClusterMonitoring(site.stack, "Monitoring", cluster=site.cluster, file_system="fs-1")  # type: ignore[arg-type]
    assert str(caught.value) == ("'file_system' is 'fs-1'; give LustreFileSystem(...) or ExistingLustreFileSystem(...)")


def test_an_imported_cluster_needs_no_kubectl(site: Site) -> None:
    bare = eks.Cluster.from_cluster_attributes(site.stack, "Bare", cluster_name="research")
    ClusterMonitoring(site.stack, "Monitoring", cluster=bare)


def test_a_name_is_no_cluster(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        ClusterMonitoring(site.stack, "Monitoring", cluster="research")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "'cluster' is 'research'; give a cluster of aws_eks_v2, such as .cluster of a TrainingCluster or of an "
        "ExistingCluster"
    )
