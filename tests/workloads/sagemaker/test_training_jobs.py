from collections.abc import Iterator

import pytest

from tests.workloads.aws.stubbed_session import StubbedSession
from tests.workloads.sagemaker.sagemaker_samples import job, request
from tests.workloads.sagemaker.training_job_answers import ARN, NAME, answer_job, at
from training_workloads.aws.errors import AwsError, NoPermissionError, RejectionError
from training_workloads.sagemaker.training_jobs import TrainingJobs, Transition
from training_workloads.validation import InputError


@pytest.fixture
def session() -> Iterator[StubbedSession]:
    stubbed = StubbedSession()
    yield stubbed
    stubbed.all_asked()


def test_the_request_is_sent_as_it_is(session: StubbedSession) -> None:
    made = request(job("resnet50-p4d", name=NAME, spot=True))
    session.answer("sagemaker", "create_training_job", {"TrainingJobArn": ARN}, made)
    assert TrainingJobs(session).create(made) == ARN


def test_a_name_that_was_used_is_rejected(session: StubbedSession) -> None:
    session.reject("sagemaker", "create_training_job", "ResourceInUse", "Training job names must be unique")
    with pytest.raises(
        InputError, match="'name' is 'job', but us-west-2 had a training job of that name, and a name is"
    ):
        TrainingJobs(session).create(request(job()))


def test_a_quota_is_the_line_of_aws(session: StubbedSession) -> None:
    text = "The account-level service limit 'ml.p4d.24xlarge for training job usage' is 0 Instances"
    session.reject("sagemaker", "create_training_job", "ResourceLimitExceeded", text)
    with pytest.raises(RejectionError, match=r"AWS rejects CreateTrainingJob \(ResourceLimitExceeded\): The account-"):
        TrainingJobs(session).create(request(job()))


def test_a_job_is_described(session: StubbedSession) -> None:
    transitions = [
        {"Status": "Starting", "StartTime": at(0), "EndTime": at(2), "StatusMessage": "Preparing the instances"},
        {"Status": "Training", "StartTime": at(2)},
    ]
    metrics = [{"MetricName": "accuracy", "Value": 0.96875, "Timestamp": at(5)}]
    answer_job(
        session,
        SecondaryStatusTransitions=transitions,
        FinalMetricDataList=metrics,
        TrainingTimeInSeconds=500,
        BillableTimeInSeconds=100,
    )
    found = TrainingJobs(session).describe(NAME)
    assert (found.name, found.status, found.secondary_status, found.is_ended) == (NAME, "InProgress", "Training", False)
    assert (found.instances, found.instance_type, found.spot) == (1, "ml.p3dn.24xlarge", True)
    assert (found.training_seconds, found.billable_seconds) == (500, 100)
    assert found.metrics == {"accuracy": 0.96875}
    assert found.run_folder == f"s3://bucket/runs/{NAME}/"
    assert found.transitions == (
        Transition(status="Starting", start=at(0), end=at(2), message="Preparing the instances"),
        Transition(status="Training", start=at(2), end=None, message=""),
    )


def test_a_job_that_failed_has_its_reason(session: StubbedSession) -> None:
    answer_job(session, "Failed", "Failed", FailureReason="AlgorithmError: '--epochs' is 0", TrainingEndTime=at(9))
    found = TrainingJobs(session).describe(NAME)
    assert (found.is_ended, found.failure_reason, found.ended) == (True, "AlgorithmError: '--epochs' is 0", at(9))


@pytest.mark.parametrize("call", ["describe", "stop"])
def test_an_unknown_job_is_named(session: StubbedSession, call: str) -> None:
    operation = f"{call}_training_job"
    session.reject("sagemaker", operation, "ValidationException", "Requested resource not found.")
    with pytest.raises(InputError, match="'name' is 'other', but this account has no such training job in us-west-2"):
        getattr(TrainingJobs(session), call)("other")


@pytest.mark.parametrize("call", ["describe", "stop"])
@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        ("ExpiredTokenException", AwsError, "AWS does not accept your credentials"),
        ("AccessDeniedException", NoPermissionError, "your role may not sagemaker:"),
        ("ThrottlingException", RejectionError, r"AWS rejects .*TrainingJob \(ThrottlingException\): Rate exceeded"),
    ],
)
def test_another_error_is_a_line(
    session: StubbedSession, call: str, code: str, kind: type[AwsError], message: str
) -> None:
    session.reject("sagemaker", f"{call}_training_job", code, "Rate exceeded")
    with pytest.raises(kind, match=message):
        getattr(TrainingJobs(session), call)(NAME)


def test_a_stop_is_asked_for(session: StubbedSession) -> None:
    session.answer("sagemaker", "stop_training_job", {}, {"TrainingJobName": NAME})
    TrainingJobs(session).stop(NAME)
