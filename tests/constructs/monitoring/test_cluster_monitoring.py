import json
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Annotations, Match, Template

from tests.constructs.site import Site, properties
from training_cluster import ClusterMonitoring, LustreFileSystem, TrainingCluster
from training_workloads import InputError


def monitoring(site: Site, **options: Any) -> ClusterMonitoring:
    lustre = LustreFileSystem(
        site.stack,
        "Lustre",
        vpc=site.vpc,
        subnet=site.subnet,
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


def test_no_group_outlives_a_cluster_whose_name_the_next_deployment_shares(site: Site) -> None:
    """A retained group of the same name would end the second deployment."""
    cluster = TrainingCluster.from_cluster_attributes(
        site.stack,
        "Existing",
        cluster_name="research",
        cluster_security_group_id="sg-0123456789abcdef0",
        vpc=site.vpc,
    )
    ClusterMonitoring(site.stack, "Monitoring", cluster=cluster)
    groups = site.template().find_resources("AWS::Logs::LogGroup").values()
    named = [each for each in groups if "/research/" in str(each["Properties"].get("LogGroupName"))]
    assert [each["DeletionPolicy"] for each in named] == ["Delete"] * 4


def test_logs_are_kept_for_a_month_and_those_of_jobs_outlive_the_cluster(site: Site) -> None:
    monitoring(site)
    groups = site.template().find_resources("AWS::Logs::LogGroup").values()
    names = {group["Properties"]["LogGroupName"]["Fn::Join"][1][-1] for group in groups}
    assert names == {"/application", "/dataplane", "/host", "/performance"}
    assert {group["Properties"]["LogGroupName"]["Fn::Join"][1][0] for group in groups} == {"/aws/containerinsights/"}
    assert {group["Properties"]["RetentionInDays"] for group in groups} == {30}
    policies = {group["Properties"]["LogGroupName"]["Fn::Join"][1][-1]: group["DeletionPolicy"] for group in groups}
    assert policies.pop("/application") == "RetainExceptOnCreate"
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


def test_without_an_address_there_is_no_topic(site: Site) -> None:
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
    assert {"Fn::Join": ["", ["logs.", {"Ref": "AWS::Region"}, ".", {"Ref": "AWS::URLSuffix"}]]} in services
    (of_logs,) = (statement["Condition"] for statement in statements if "Condition" in statement)
    (groups,) = of_logs["ArnLike"].values()
    assert groups["Fn::Join"][1][-1] == ":log-group:/aws/containerinsights/*"


def test_rejects_an_invalid_address(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        monitoring(site, alarm_email="the team")
    assert [problem.path for problem in caught.value.problems] == [("alarm_email",)]


def test_it_synthesizes_without_a_warning(site: Site) -> None:
    monitoring(site, alarm_email="team@example.com")
    Annotations.from_stack(site.stack).has_no_warning("*", Match.any_value())


def test_without_a_file_system_nothing_of_one_is_shown(site: Site) -> None:
    made = ClusterMonitoring(site.stack, "Monitoring", cluster=site.cluster)
    assert made.alarms.lustre_nearly_full is None
    template = site.template()
    template.resource_count_is("AWS::CloudWatch::Alarm", 3)
    assert "Lustre" not in json.dumps(only(template, "AWS::CloudWatch::Dashboard"))


def test_an_imported_file_system(site: Site) -> None:
    existing = LustreFileSystem.from_lustre_file_system_attributes(
        site.stack,
        "Existing",
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


def test_a_file_system_of_the_cdk(site: Site) -> None:
    made = fsx.LustreFileSystem(
        site.stack,
        "Lustre",
        vpc=site.vpc,
        vpc_subnet=site.subnet,
        storage_capacity_gib=1200,
        lustre_configuration={"deployment_type": fsx.LustreDeploymentType.SCRATCH_2},
    )
    ClusterMonitoring(site.stack, "Monitoring", cluster=site.cluster, file_system=made)
    alarms = site.template().find_resources("AWS::CloudWatch::Alarm")
    (metrics,) = (each["Properties"]["Metrics"] for id, each in alarms.items() if "LustreNearlyFull" in id)
    assert metrics[0]["Expression"] == "100 * free / (1200 * 1073741824)"


def test_rejects_the_id_of_a_file_system(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        ClusterMonitoring(site.stack, "Monitoring", cluster=site.cluster, file_system="fs-1")  # type: ignore[arg-type]
    assert [problem.path for problem in caught.value.problems] == [("file_system",)]


def test_its_metrics_are_those_of_the_cluster(site: Site) -> None:
    made = monitoring(site)
    utilization, nodes = made.metric_gpu_utilization(), made.metric("cluster_node_count", statistic="Maximum")
    assert (utilization.namespace, utilization.metric_name) == ("ContainerInsights", "node_gpu_utilization")
    assert (nodes.metric_name, nodes.statistic) == ("cluster_node_count", "Maximum")
    assert site.stack.resolve(nodes.dimensions) == {"ClusterName": site.stack.resolve(site.cluster.cluster_name)}
    assert made.metric_gpu_errors().metric_name == "GpuXidErrors"
    assert made.metric_gpu_errors(period=Duration.hours(1)).period.to_hours() == 1
    assert made.metric_gpu_utilization(label="GPUs").label == "GPUs"
    assert isinstance(made.dashboard, cloudwatch.Dashboard)


def test_it_waits_for_the_node_add_ons_of_our_cluster(site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Ours", vpc=site.vpc)
    ClusterMonitoring(site.stack, "Monitoring", cluster=cluster)
    addons = site.template().find_resources("AWS::EKS::Addon")
    names = {id: addon["Properties"]["AddonName"] for id, addon in addons.items()}
    (monitoring_id,) = (id for id, name in names.items() if name == "amazon-cloudwatch-observability")
    assert "coredns" in {names.get(id) for id in addons[monitoring_id]["DependsOn"]}


def test_an_imported_cluster_needs_no_kubectl(site: Site) -> None:
    bare = eks.Cluster.from_cluster_attributes(site.stack, "Bare", cluster_name="research")
    ClusterMonitoring(site.stack, "Monitoring", cluster=bare)


def test_rejects_the_name_of_a_cluster(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        ClusterMonitoring(site.stack, "Monitoring", cluster="research")  # type: ignore[arg-type]
    assert [problem.path for problem in caught.value.problems] == [("cluster",)]


def test_rejects_a_second_monitoring(site: Site) -> None:
    ClusterMonitoring(site.stack, "Monitoring", cluster=site.cluster)
    with pytest.raises(InputError) as caught:
        ClusterMonitoring(site.stack, "Second", cluster=site.cluster)
    assert str(caught.value) == (
        "'Site/Second' is 'a second monitoring', but Site/Monitoring owns that of the cluster; remove one of the two"
    )


def exporter(site: Site, instance_type: str) -> Any:
    """The add-on's values for the exporter; the node group comes after the monitoring."""
    cluster = TrainingCluster(site.stack, "Ours", vpc=site.vpc)
    cluster.add_monitoring("Monitoring")
    cluster.add_gpu_node_group("gpu", instance_type=instance_type)
    addons = properties(site.template(), "AWS::EKS::Addon")
    (addon,) = (each for each in addons if each["AddonName"] == "amazon-cloudwatch-observability")
    return json.loads(addon["ConfigurationValues"]).get("dcgmExporter")


def test_the_addon_has_its_own_list_of_types_where_that_is_complete(site: Site) -> None:
    assert exporter(site, "p5.48xlarge") is None


def test_gpu_metrics_of_a_type_that_the_addon_does_not_list(site: Site) -> None:
    affinity = exporter(site, "p5.4xlarge")["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    types, fargate = term["matchExpressions"]
    assert (types["key"], types["operator"]) == ("node.kubernetes.io/instance-type", "In")
    assert {"p5.4xlarge", "p5.48xlarge", "g5.xlarge"} <= set(types["values"])
    assert (fargate["operator"], fargate["values"]) == ("NotIn", ["fargate"])
