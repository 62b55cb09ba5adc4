"""The training jobs of an account: create, describe, and stop one."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self

from training_workloads.aws.errors import RejectionError, aws_errors
from training_workloads.aws.session import AwsSession
from training_workloads.validation import InputError, Problem

__all__ = ["COMPLETED", "NAME", "TrainingJob", "TrainingJobs", "Transition"]

#: The form of a job's name
#: (https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateTrainingJob.html, read 2026-11-23).
NAME: Final = r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"

#: The status of a job that has succeeded.
COMPLETED: Final = "Completed"

_ENDED = (COMPLETED, "Failed", "Stopped")

# The answer of DescribeTrainingJob and StopTrainingJob for an unknown name. The API's name for it, ResourceNotFound, is
# documented, and taken too.
_UNKNOWN = "not found"
_TAKEN = "ResourceInUse"

# The answer of StopTrainingJob, with "ValidationException", for a job that has ended
# (https://github.com/awslabs/benchmark-ai/issues/928, read 2026-11-24).
_NOT_RUNNING = "rejected because the training job is in status"


@dataclass(frozen=True, kw_only=True, slots=True)
class Transition:
    """A state that a job was in, or is in.

    Attributes:
        status: SageMaker's secondary status, such as `Downloading`.
        start: Since when.
        end: Until when; None if it is in it.
        message: SageMaker's message about it.
    """

    status: str
    start: datetime
    end: datetime | None
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingJob:
    """A job, as SageMaker describes it.

    Attributes:
        name: Its name.
        status: `InProgress`, `Completed`, `Failed`, `Stopping` or `Stopped`.
        secondary_status: The state in it, such as `Downloading` or `MaxRuntimeExceeded`.
        failure_reason: Why it failed: the words of the entry point, or SageMaker's; empty for a job that has not.
        instance_type: SageMaker's name of the type.
        instances: Number of instances.
        spot: Whether it runs on Spot capacity.
        created: When it was created.
        ended: When it has ended.
        training_seconds: Time between its start and its end, interruptions apart.
        billable_seconds: The part of that time which each instance costs.
        run_folder: The folder in S3 with its checkpoints, curves and results; empty without one.
        metrics: The last value of each metric that SageMaker found in the log.
        transitions: The states so far, the oldest first.
    """

    name: str
    status: str
    secondary_status: str
    failure_reason: str
    instance_type: str
    instances: int
    spot: bool
    created: datetime
    ended: datetime | None
    training_seconds: int | None
    billable_seconds: int | None
    run_folder: str
    metrics: dict[str, float]
    transitions: tuple[Transition, ...]

    @property
    def is_ended(self) -> bool:
        """Whether it has ended."""
        return self.status in _ENDED

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Self:
        """Return the job that an answer of DescribeTrainingJob describes."""
        resources = answer.get("ResourceConfig", {})
        return cls(
            name=answer["TrainingJobName"],
            status=answer["TrainingJobStatus"],
            secondary_status=answer["SecondaryStatus"],
            failure_reason=" ".join(answer.get("FailureReason", "").split()),
            instance_type=resources.get("InstanceType", ""),
            instances=resources.get("InstanceCount", 0),
            spot=answer.get("EnableManagedSpotTraining", False),
            created=answer["CreationTime"],
            ended=answer.get("TrainingEndTime"),
            training_seconds=answer.get("TrainingTimeInSeconds"),
            billable_seconds=answer.get("BillableTimeInSeconds"),
            run_folder=answer.get("CheckpointConfig", {}).get("S3Uri", ""),
            metrics={each["MetricName"]: each["Value"] for each in answer.get("FinalMetricDataList", ())},
            transitions=tuple(_transition(each) for each in answer.get("SecondaryStatusTransitions", ())),
        )


def _transition(answer: dict[str, Any]) -> Transition:
    return Transition(
        status=answer["Status"],
        start=answer["StartTime"],
        end=answer.get("EndTime"),
        message=answer.get("StatusMessage", ""),
    )


class TrainingJobs:
    """The training jobs of the user's account and region."""

    def __init__(self, session: AwsSession) -> None:
        self.session = session
        with aws_errors("sagemaker"):
            self._client = session.client("sagemaker")

    def create(self, request: dict[str, Any]) -> str:
        """Create a job, and return its ARN.

        Raises:
            InputError: There is, or was, a job of that name.
            AwsError: AWS rejects the request, or cannot be asked.
        """
        name = request["TrainingJobName"]
        try:
            with aws_errors("sagemaker"):
                return str(self._client.create_training_job(**request)["TrainingJobArn"])
        except RejectionError as error:
            if error.code != _TAKEN:
                raise
            allowed = f"{self._region} had a training job of that name, and a name is used once"
            raise InputError(Problem(path=("name",), given=name, allowed=allowed, fix="give another name")) from error

    def describe(self, name: str, argument: str = "name") -> TrainingJob:
        """Return a job.

        Args:
            name: Its name.
            argument: The argument with the name, for the message about an unknown one.

        Raises:
            InputError: There is no job of that name.
            AwsError: AWS rejects the request, or cannot be asked.
        """
        try:
            with aws_errors("sagemaker"):
                return TrainingJob.of(self._client.describe_training_job(TrainingJobName=name))
        except RejectionError as error:
            raise self._known(error, name, argument) from error

    def stop(self, name: str) -> None:
        """Ask SageMaker to stop a job: its ranks get SIGTERM, and have 120 seconds to save a checkpoint.

        A job that has ended by now is ignored.

        Raises:
            InputError: There is no job of that name.
            AwsError: AWS rejects the request, or cannot be asked.
        """
        try:
            with aws_errors("sagemaker"):
                self._client.stop_training_job(TrainingJobName=name)
        except RejectionError as error:
            if _NOT_RUNNING not in str(error):
                raise self._known(error, name, "name") from error

    @property
    def _region(self) -> str:
        return str(self._client.meta.region_name)

    def _known(self, error: RejectionError, name: str, argument: str) -> Exception:
        """Return the error for a name that no job has; any other error unchanged."""
        if _UNKNOWN not in str(error).lower() and error.code != "ResourceNotFound":
            return error
        allowed = f"this account has no such training job in {self._region}"
        fix = "give the name that 'submit' printed, or set AWS_PROFILE and AWS_REGION to where the job is"
        return InputError(Problem(path=(argument,), given=name, allowed=allowed, fix=fix))
