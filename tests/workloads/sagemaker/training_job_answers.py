"""Answers of SageMaker and of CloudWatch Logs about a training job."""

from datetime import UTC, datetime
from typing import Any

from tests.workloads.aws.stubbed_session import StubbedSession

NAME = "digits-1"
ARN = f"arn:aws:sagemaker:us-west-2:111122223333:training-job/{NAME}"
GROUP = "/aws/sagemaker/TrainingJobs"


def at(minute: int, second: int = 0) -> datetime:
    return datetime(2026, 11, 23, 14, minute, second, tzinfo=UTC)


def described(status: str = "InProgress", secondary: str = "Training", **more: Any) -> dict[str, Any]:
    """Return an answer of DescribeTrainingJob, with the fields that it has for every job."""
    return {
        "TrainingJobName": NAME,
        "TrainingJobArn": ARN,
        "ModelArtifacts": {"S3ModelArtifacts": ""},
        "TrainingJobStatus": status,
        "SecondaryStatus": secondary,
        "AlgorithmSpecification": {"TrainingInputMode": "File"},
        "ResourceConfig": {"InstanceType": "ml.p3dn.24xlarge", "InstanceCount": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 604_800},
        "CreationTime": at(0),
        "CheckpointConfig": {"S3Uri": f"s3://bucket/runs/{NAME}/"},
        "EnableManagedSpotTraining": True,
        **more,
    }


def answer_job(session: StubbedSession, status: str = "InProgress", secondary: str = "Training", **more: Any) -> None:
    expected = {"TrainingJobName": NAME}
    session.answer("sagemaker", "describe_training_job", described(status, secondary, **more), expected)


def event(number: int, host: int, text: str, second: int = 0) -> dict[str, Any]:
    return {
        "eventId": str(number),
        "logStreamName": f"{NAME}/algo-{host}-1700000000",
        "timestamp": int(at(5, second).timestamp() * 1000),
        "message": text,
        "ingestionTime": 0,
    }


def answer_log(session: StubbedSession, *events: dict[str, Any], token: str | None = None, **position: Any) -> None:
    expected = {"logGroupName": GROUP, "logStreamNamePrefix": f"{NAME}/", **({"startTime": 0} | position)}
    answer = {"events": list(events), **({"nextToken": token} if token else {})}
    session.answer("logs", "filter_log_events", answer, expected)
