"""The scan of templates finds mistakes."""

from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3

from scan.nag import checked_app, nag_findings, synthesize
from training_cluster import TrainingBucket, TrainingKey


def test_finds_a_bucket_without_tls_and_logs(tmp_path: Path) -> None:
    app = checked_app(tmp_path / "bad", {})
    s3.Bucket(cdk.Stack(app, "Stack"), "Bucket")
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    found = {(finding.rule, finding.resource) for finding in nag_findings(tmp_path / "bad")}
    assert ("AwsSolutions-S1", "Stack/Bucket/Resource") in found
    assert ("AwsSolutions-S10", "Stack/Bucket/Resource") in found


def test_accepts_the_training_bucket(tmp_path: Path) -> None:
    app = checked_app(tmp_path / "good", {})
    stack = cdk.Stack(app, "Stack")
    TrainingBucket(stack, "Bucket", encryption_key=TrainingKey(stack, "Key"))
    app.synth()
    assert nag_findings(tmp_path / "good") == []


def test_reports_a_configuration_that_does_not_synthesize(tmp_path: Path) -> None:
    config = tmp_path / "cluster.yaml"
    config.write_text("node_groups: {gpu: {instance_type: p5.49xlarge}}\n")
    with pytest.raises(RuntimeError, match=r"could not be synthesized:(.|\n)*'p5.49xlarge'"):
        synthesize(config, tmp_path / "out")
