from typing import Any

import pytest
from aws_cdk import Token
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from tests.constructs.keyword import problems_of
from tests.constructs.site import Site, properties
from training_cluster.monitoring.alarms import ClusterAlarms, Email
from training_cluster.monitoring.cluster_metrics import ClusterMetrics
from training_cluster.storage.lustre_file_system import LustreFileSystem

METRICS = ClusterMetrics("training")


def alarms(site: Site, *, capacity: float = 4800, **options: Any) -> ClusterAlarms:
    lustre = LustreFileSystem(
        site.stack,
        "Lustre",
        vpc=site.vpc,
        subnet=site.subnet,
        bucket=s3.Bucket(site.stack, "Bucket"),
        capacity_gib=capacity,
    )
    xids = cloudwatch.Metric(namespace="Gpus", metric_name="Xids", statistic="Sum")
    return ClusterAlarms(site.stack, "Alarms", metrics=METRICS, file_system=lustre, gpu_errors=xids, **options)


def alarm(template: Template, name: str) -> dict[str, Any]:
    (made,) = (
        resource["Properties"]
        for id, resource in template.find_resources("AWS::CloudWatch::Alarm").items()
        if id.startswith(f"Alarms{name}")
    )
    return dict(made)


def metric(alarm: dict[str, Any], id: str) -> dict[str, Any]:
    (found,) = (metric["MetricStat"] for metric in alarm["Metrics"] if metric["Id"] == id)
    return dict(found)


def test_gpus_that_idle_for_half_an_hour_while_nodes_run(site: Site) -> None:
    alarms(site)
    made = alarm(site.template(), "GpusIdle")
    assert made["Metrics"][0]["Expression"] == "IF(gpus > 0 AND busiest < 5, 1, 0)"
    assert metric(made, "gpus") == {
        "Metric": {
            "Dimensions": [{"Name": "ClusterName", "Value": "training"}],
            "MetricName": "node_gpu_limit",
            "Namespace": "ContainerInsights",
        },
        "Period": 300,
        "Stat": "Maximum",
    }
    assert metric(made, "busiest")["Metric"]["MetricName"] == "node_gpu_utilization"
    assert metric(made, "busiest")["Stat"] == "Maximum"
    assert (made["Threshold"], made["ComparisonOperator"]) == (1, "GreaterThanOrEqualToThreshold")
    assert made["EvaluationPeriods"] == 6
    assert made["TreatMissingData"] == "notBreaching"


def test_lustre_below_a_tenth_free(site: Site) -> None:
    lustre = alarms(site, capacity=4800)
    made = alarm(site.template(), "LustreNearlyFull")
    assert made["Metrics"][0]["Expression"] == "100 * free / (4800 * 1073741824)"
    free = metric(made, "free")
    assert (free["Metric"]["Namespace"], free["Metric"]["MetricName"]) == ("AWS/FSx", "FreeDataStorageCapacity")
    assert [dimension["Name"] for dimension in free["Metric"]["Dimensions"]] == ["FileSystemId"]
    assert (free["Stat"], free["Period"]) == ("Sum", 60)
    assert (made["Threshold"], made["ComparisonOperator"]) == (10, "LessThanThreshold")
    assert (made["EvaluationPeriods"], made["TreatMissingData"]) == (5, "ignore")
    assert len(lustre.all) == 4


def test_allows_a_token_as_capacity(site: Site) -> None:
    alarms(site, capacity=Token.as_number({"Ref": "Size"}))
    expression = alarm(site.template(), "LustreNearlyFull")["Metrics"][0]["Expression"]
    assert expression == {"Fn::Join": ["", ["100 * free / (", {"Ref": "Size"}, " * 1073741824)"]]}


def test_a_node_that_is_not_ready(site: Site) -> None:
    alarms(site)
    made = alarm(site.template(), "NodeNotReady")
    assert (made["Namespace"], made["MetricName"]) == ("ContainerInsights", "node_status_condition_ready")
    assert (made["Statistic"], made["Period"], made["EvaluationPeriods"]) == ("Minimum", 300, 2)
    assert (made["Threshold"], made["ComparisonOperator"]) == (1, "LessThanThreshold")
    assert made["TreatMissingData"] == "notBreaching"


def test_any_xid(site: Site) -> None:
    alarms(site)
    made = alarm(site.template(), "GpuErrors")
    assert (made["Namespace"], made["MetricName"], made["Statistic"]) == ("Gpus", "Xids", "Sum")
    assert (made["Threshold"], made["ComparisonOperator"]) == (1, "GreaterThanOrEqualToThreshold")
    assert (made["EvaluationPeriods"], made["TreatMissingData"]) == (1, "notBreaching")


def test_without_an_address_alarms_only_show(site: Site) -> None:
    assert alarms(site).topic is None
    template = site.template()
    template.resource_count_is("AWS::SNS::Topic", 0)
    assert not any("AlarmActions" in made for made in properties(template, "AWS::CloudWatch::Alarm"))


def test_with_an_address_each_alarm_is_mailed(site: Site) -> None:
    alarms(site, email="team@example.com")
    template = site.template()
    (topic_id,) = template.find_resources("AWS::SNS::Topic")
    assert [made["AlarmActions"] for made in properties(template, "AWS::CloudWatch::Alarm")] == [
        [{"Ref": topic_id}]
    ] * 4
    template.has_resource_properties(
        "AWS::SNS::Subscription",
        {"Protocol": "email", "Endpoint": "team@example.com", "TopicArn": {"Ref": topic_id}},
    )


def test_the_topic_accepts_encrypted_messages_of_the_accounts_alarms(site: Site) -> None:
    alarms(site, email="team@example.com")
    template = site.template()
    (policy,) = properties(template, "AWS::SNS::TopicPolicy")
    deny, allow = policy["PolicyDocument"]["Statement"]
    assert (deny["Effect"], deny["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    assert allow["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert (allow["Effect"], allow["Action"]) == ("Allow", "sns:Publish")
    assert allow["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_the_topics_key_admits_cloudwatch_and_is_deleted_with_it(site: Site) -> None:
    alarms(site, email="team@example.com")
    template = site.template()
    ((key_id, key),) = template.find_resources("AWS::KMS::Key").items()
    assert (key["DeletionPolicy"], key["Properties"]["EnableKeyRotation"]) == ("Delete", True)
    assert key["Properties"]["KeyPolicy"]["Statement"][-1] == {
        "Action": ["kms:Decrypt", "kms:GenerateDataKey*"],
        "Effect": "Allow",
        "Principal": {"Service": "cloudwatch.amazonaws.com"},
        "Resource": "*",
    }
    (topic,) = properties(template, "AWS::SNS::Topic")
    assert topic["KmsMasterKeyId"] == {"Fn::GetAtt": [key_id, "Arn"]}


def test_uses_the_given_key(site: Site) -> None:
    alarms(site, email="team@example.com", encryption_key=kms.Key(site.stack, "Given"))
    template = site.template()
    (key_id,) = template.find_resources("AWS::KMS::Key")
    assert key_id.startswith("Given")


@pytest.mark.parametrize(
    "address",
    ["team@example.com", "a.b+c@mail.example.co.uk", Token.as_string({"Ref": "Email"})],
)
def test_allows_one_address(address: str) -> None:
    assert not problems_of(Email, address, "email")


@pytest.mark.parametrize(
    "address",
    [
        "",
        "team",
        "team@host",
        "a b@example.com",
        "a@x.com, b@x.com",
        "Team <team@example.com>",
        "a@x.com.",
        ["a@x.com"],
        "a..b@x.com",
        ".a@x.com",
        "a.@x.com",
        "a@-x.com",
        "a@x-.com",
        "a@x..com",
        "a@x_y.com",
        "a@x.123",
        "a@@x.com",
        "a\u00e4@x.com",
        "a" * 65 + "@x.com",
        "a@x.com\n",
    ],
)
def test_rejects_what_is_not_one_address(address: Any) -> None:
    (problem,) = problems_of(Email, address, "email")
    assert str(problem).startswith(f"'email' is {address!r}; give ")
