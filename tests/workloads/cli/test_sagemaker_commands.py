"""AWS is botocore's stubs."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from botocore.stub import ANY

from tests.workloads.aws.stubbed_session import StubbedSession
from tests.workloads.cli.conftest import Command, Result
from tests.workloads.sagemaker.sagemaker_samples import IMAGE, OUTPUTS, ROLE
from tests.workloads.sagemaker.training_job_answers import ARN, NAME, answer_job, answer_log, at, event
from training_workloads.cli import sagemaker_commands
from training_workloads.cluster import polling

PLACE = (f"--role={ROLE}", "--bucket=bucket")
DIGITS = ("submit", "digits", f"--image={IMAGE}")


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubbedSession]:
    stubbed = StubbedSession()
    monkeypatch.setattr(sagemaker_commands, "AwsSession", lambda: stubbed)
    monkeypatch.setattr(polling, "INTERVAL_SECONDS", 0.001)
    yield stubbed
    stubbed.all_asked()


@pytest.fixture
def sagemaker(command: Command) -> Command:
    """Run a command of the group."""

    def run(*arguments: str) -> Result:
        return command("sagemaker", *arguments)

    return run


def answer_outputs(session: StubbedSession, outputs: dict[str, str] = OUTPUTS) -> None:
    pairs = [{"OutputKey": name, "OutputValue": value} for name, value in outputs.items()]
    stack = {"StackName": "SageMakerTrainingStack", "CreationTime": 0, "StackStatus": "CREATE_COMPLETE"}
    expected = {"StackName": "SageMakerTrainingStack"}
    session.answer("cloudformation", "describe_stacks", {"Stacks": [stack | {"Outputs": pairs}]}, expected)


def test_a_recipe_and_the_stack_are_enough(sagemaker: Command, session: StubbedSession) -> None:
    answer_outputs(session)
    expected = {
        **dict.fromkeys(("AlgorithmSpecification", "HyperParameters", "Environment", "RetryStrategy"), ANY),
        "TrainingJobName": NAME,
        "RoleArn": ROLE,
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/runs/output", "CompressionType": "NONE"},
        "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 1},
        "VpcConfig": {
            "SecurityGroupIds": ["sg-0123456789abcdef0"],
            "Subnets": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 604_800},
        "EnableManagedSpotTraining": False,
        "CheckpointConfig": {"S3Uri": f"s3://bucket/runs/{NAME}/", "LocalPath": "/opt/ml/checkpoints"},
    }
    session.answer("sagemaker", "create_training_job", {"TrainingJobArn": ARN}, expected)
    code, out, err = sagemaker(*DIGITS, f"--name={NAME}")
    assert (code, err) == (0, "")
    assert out == (
        f"created training job '{NAME}', whose run is in s3://bucket/runs/{NAME}/\n"
        f"next: trainctl sagemaker logs -f {NAME}\n"
    )


def test_options_replace_what_the_stack_says(sagemaker: Command, session: StubbedSession) -> None:
    options = ("--instance-type=ml.g5.xlarge", "--spot", "--max-runtime=2h", "--max-wait=3h", "--dry-run", "--name=a")
    code, out, err = sagemaker(*DIGITS, *PLACE, *options)
    assert (code, err) == (0, "")
    made = json.loads(out)
    assert made["ResourceConfig"] == {"InstanceType": "ml.g5.xlarge", "InstanceCount": 2}
    assert made["StoppingCondition"] == {"MaxRuntimeInSeconds": 7200, "MaxWaitTimeInSeconds": 10_800}
    assert made["EnableManagedSpotTraining"] is True
    assert "VpcConfig" not in made


def test_a_type_with_efa_may_run_ranks_that_leave_it_unused(sagemaker: Command) -> None:
    made = json.loads(sagemaker(*DIGITS, *PLACE, "--instance-type=p5.48xlarge", "--dry-run").out)
    assert made["ResourceConfig"] == {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1}
    assert made["AlgorithmSpecification"]["ContainerArguments"][:2] == ["--processes-per-host", "2"]


def test_of_a_retired_type_it_says_that_nothing_is_known_of_sagemaker(sagemaker: Command) -> None:
    code, out, err = sagemaker(*DIGITS, *PLACE, "--instance-type=p3.16xlarge", "--dry-run")
    assert code == 0
    assert json.loads(out)["ResourceConfig"]["InstanceType"] == "ml.p3.16xlarge"
    assert err == (
        "warning: AWS retired p3.16xlarge on EC2 on 2025-12-20 "
        "(https://github.com/zalando-incubator/kubernetes-on-aws/pull/8685); whether SageMaker still has "
        "ml.p3.16xlarge is not known; else choose ml.p3dn.24xlarge or ml.p4d.24xlarge\n"
    )


def test_the_old_name_of_a_recipe_is_answered_with_the_new_one(sagemaker: Command) -> None:
    message = "error: 'RECIPE' is 'digits-p3', but AWS has retired its instance type; give digits\n"
    assert sagemaker("submit", "digits-p3", *PLACE, "--dry-run") == (2, "", message)


def test_a_dry_run_prints_what_boto3_accepts(sagemaker: Command, session: StubbedSession) -> None:
    made = json.loads(sagemaker(*DIGITS, *PLACE, "--dry-run").out)
    session.answer("sagemaker", "create_training_job", {"TrainingJobArn": ARN}, made)
    assert session.client("sagemaker").create_training_job(**made) == {"TrainingJobArn": ARN}


def test_the_name_is_that_of_the_recipe_with_the_time(sagemaker: Command) -> None:
    name = json.loads(sagemaker(*DIGITS, *PLACE, "--dry-run").out)["TrainingJobName"]
    prefix, day, time = name.rsplit("-", 2)
    assert (prefix, len(day), len(time)) == ("digits", 8, 6)


def test_the_image_is_the_one_that_was_pushed(tmp_path: Path, sagemaker: Command) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist/images.json").write_text(json.dumps({"localhost/training:latest": IMAGE}))
    code, out, err = sagemaker("submit", "digits", *PLACE, "--dry-run")
    assert (code, err) == (0, f"the image is {IMAGE}, by dist/images.json\n")
    assert json.loads(out)["AlgorithmSpecification"]["TrainingImage"] == IMAGE


def test_a_longest_time_of_nothing_is_rejected_by_the_options_name(sagemaker: Command) -> None:
    code, out, err = sagemaker(*DIGITS, *PLACE, "--max-runtime=0s", "--dry-run")
    assert (code, out) == (2, "")
    assert err.startswith("error: '--max-runtime' is 0; give 1 or more")


def test_mistakes_are_lines_with_the_options_names(sagemaker: Command, session: StubbedSession) -> None:
    options = ("--instances=0", "--volume-gb=1", "--input-mode=Pipe", "--efs=x", "--resume=_", "--name=a_b")
    code, out, err = sagemaker("submit", "digits-p4d", *options)
    assert (code, out) == (2, "")
    assert [line.partition("' is ")[0] for line in err.splitlines()] == [
        "error: '--name",
        "error: '--image",
        "error: '--instances",
        "error: '--efs",
        "error: '--input-mode",
        "error: '--input-mode",
        "error: '--efs",
        "error: '--input-mode",
        "error: '--volume-gb",
        "error: '--resume",
    ]


def test_other_mistakes_are_lines_too(sagemaker: Command, session: StubbedSession) -> None:
    assert sagemaker("submit", "digits-p9").err.startswith(
        "error: 'RECIPE' is 'digits-p9', but it is not known; did you"
    )
    assert sagemaker("submit", "tensorboard", f"--image={IMAGE}").err == (
        "error: 'RECIPE' is 'tensorboard', but SageMaker does not run a TensorBoard; give a job that trains, with "
        "Horovod or torchrun\n"
    )
    assert "'--max-wait' is 'soon'; give seconds, or a number with s" in sagemaker(*DIGITS, "--max-wait=soon").err
    assert "'--role' is 'me'; give the ARN of a role" in sagemaker(*DIGITS, "--role=me", "--bucket=bucket").err
    assert "'NAME' is 'a_b'; give the name of a training job" in sagemaker("status", "a_b").err


def test_a_stack_of_another_version_lacks_an_output(sagemaker: Command, session: StubbedSession) -> None:
    answer_outputs(session, {"BucketName": "bucket"})
    assert sagemaker(*DIGITS).err == "error: '--role' is missing; give the ARN of a role that SageMaker may assume\n"


def test_a_stack_that_is_not_deployed_is_named(sagemaker: Command, session: StubbedSession) -> None:
    session.reject("cloudformation", "describe_stacks", "ValidationError", "Stack with id X does not exist")
    code, _, err = sagemaker(*DIGITS)
    assert code == 2
    assert err.startswith(
        "error: '--stack' is 'SageMakerTrainingStack', but this account has no such stack in us-west-2;"
    )


@pytest.mark.parametrize("words", [DIGITS, ("status", NAME), ("logs", NAME), ("stop", NAME)])
def test_expired_credentials_are_a_line(sagemaker: Command, session: StubbedSession, words: tuple[str, ...]) -> None:
    operation = ("cloudformation", "describe_stacks") if words == DIGITS else ("sagemaker", "describe_training_job")
    session.reject(*operation, "ExpiredToken")
    code, out, err = sagemaker(*words)
    assert (code, out) == (3, "")
    assert err.startswith("error: AWS does not accept your credentials (ExpiredToken); log in")


def test_a_run_is_continued_when_its_job_has_ended(sagemaker: Command, session: StubbedSession) -> None:
    answer_job(session)
    assert sagemaker(*DIGITS, *PLACE, f"--resume={NAME}").err == (
        f"error: '--resume' is '{NAME}', but it is Training, and two jobs must not write one run; wait for its end, or "
        f"'trainctl sagemaker stop {NAME}'\n"
    )
    answer_job(session, "Stopped", "Stopped")
    session.answer("sagemaker", "create_training_job", {"TrainingJobArn": ARN})
    out = sagemaker(*DIGITS, *PLACE, f"--resume={NAME}", "--name=b", "--json").out
    assert json.loads(out) == {"name": "b", "arn": ARN, "run_folder": f"s3://bucket/runs/{NAME}/"}


def test_the_run_of_a_job_that_has_continued_another_is_continued(sagemaker: Command, session: StubbedSession) -> None:
    first = {"S3Uri": "s3://other/runs/first"}
    answer_job(session, "Stopped", "Stopped", CheckpointConfig=first)
    request = json.loads(sagemaker(*DIGITS, *PLACE, f"--resume={NAME}", "--name=c", "--dry-run").out)
    assert request["CheckpointConfig"]["S3Uri"] == "s3://other/runs/first/"
    answer_job(session, "Stopped", "Stopped", CheckpointConfig={"S3Uri": ""})
    assert "it has saved no checkpoints; omit it" in sagemaker(*DIGITS, *PLACE, f"--resume={NAME}", "--name=c").err


TRANSITIONS: list[dict[str, Any]] = [
    {"Status": "Starting", "StartTime": at(0), "EndTime": at(2), "StatusMessage": "Preparing the instances"},
    {
        "Status": "Training",
        "StartTime": at(2),
        "EndTime": at(9, 30),
        "StatusMessage": "Training image download completed",
    },
]


def test_the_status_has_states_cost_and_metrics(sagemaker: Command, session: StubbedSession) -> None:
    answer_job(
        session,
        "Failed",
        "Failed",
        FailureReason="AlgorithmError: algo-2 did not report within 600 s",
        SecondaryStatusTransitions=TRANSITIONS,
        FinalMetricDataList=[{"MetricName": "accuracy", "Value": 0.96875, "Timestamp": at(5)}],
        TrainingTimeInSeconds=450,
        BillableTimeInSeconds=150,
    )
    lines = sagemaker("status", NAME).out.splitlines()
    assert lines[0] == f"training job '{NAME}': Failed (AlgorithmError: algo-2 did not report within 600 s)"
    assert lines[1].startswith("1 x ml.p3dn.24xlarge on Spot capacity, age ")
    assert lines[1].endswith(", trained 7m30s, billable 2m30s")
    assert lines[2:5] == [f"run: s3://bucket/runs/{NAME}/", "metrics: accuracy 0.96875", ""]
    assert [line.split() for line in lines[5:]] == [
        ["STATE", "FROM", "(UTC)", "FOR", "MESSAGE"],
        ["Starting", "14:00:00", "2m", "Preparing", "the", "instances"],
        ["Training", "14:02:00", "7m30s", "Training", "image", "download", "completed"],
    ]


def test_the_status_as_json(sagemaker: Command, session: StubbedSession) -> None:
    answer_job(session, SecondaryStatusTransitions=TRANSITIONS)
    found = json.loads(sagemaker("status", NAME, "--json").out)
    assert (found["name"], found["status"], found["created"]) == (NAME, "InProgress", "2026-11-23T14:00:00+00:00")
    assert found["transitions"][0]["status"] == "Starting"


def test_an_unknown_job_is_a_line(sagemaker: Command, session: StubbedSession) -> None:
    session.reject("sagemaker", "describe_training_job", "ValidationException", "Requested resource not found.")
    code, _, err = sagemaker("logs", "other")
    assert code == 2
    assert err.startswith("error: 'NAME' is 'other', but this account has no such training job in us-west-2; give the")


def test_the_log_of_all_hosts(sagemaker: Command, session: StubbedSession) -> None:
    answer_job(session)
    answer_log(session, event(1, 1, "one"), event(2, 2, "two"))
    assert sagemaker("logs", NAME) == (0, "algo-1 | one\nalgo-2 | two\n", "")


@pytest.mark.parametrize(("status", "code"), [("Completed", 0), ("Failed", 1), ("Stopped", 1)])
def test_a_followed_log_ends_as_the_job(sagemaker: Command, session: StubbedSession, status: str, code: int) -> None:
    answer_job(session, "InProgress", "Starting")
    answer_log(session)
    # One answer that AWS did not give in time is no failure.
    session.reject("sagemaker", "describe_training_job", "ThrottlingException", "Rate exceeded")
    answer_job(session, status, status)
    answer_log(session, event(1, 1, "last words"))
    found = sagemaker("logs", "-f", NAME)
    assert (found.code, found.out) == (code, "algo-1 | last words\n")
    assert found.err.splitlines() == [
        "note: AWS rejects DescribeTrainingJob (ThrottlingException): Rate exceeded; retrying for up to 180 seconds",
        f"training job '{NAME}': {status}",
    ]


def test_a_stop_waits_for_the_end(sagemaker: Command, session: StubbedSession) -> None:
    answer_job(session)
    session.answer("sagemaker", "stop_training_job", {}, {"TrainingJobName": NAME})
    answer_job(session, "Stopping", "Stopping")
    answer_job(session, "Stopped", "Stopped")
    assert sagemaker("stop", NAME) == (0, f"training job '{NAME}': Stopped\n", "")


def test_a_job_that_ends_before_it_is_stopped_is_no_error(sagemaker: Command, session: StubbedSession) -> None:
    answer_job(session)
    rejected = "The request was rejected because the training job is in status Completed."
    session.reject("sagemaker", "stop_training_job", "ValidationException", rejected)
    answer_job(session, "Completed", "Completed")
    assert sagemaker("stop", NAME) == (0, f"training job '{NAME}': Completed\n", "")


def test_a_job_that_has_ended_is_not_stopped(sagemaker: Command, session: StubbedSession) -> None:
    answer_job(session, "Completed", "Completed")
    assert sagemaker("stop", NAME).out == f"training job '{NAME}' had ended: Completed\n"


def test_ctrl_c_names_what_continues(
    session: StubbedSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(polling.Poller, "pause", interrupted)
    answer_job(session)
    answer_log(session)
    with pytest.raises(KeyboardInterrupt):
        click.Context(sagemaker_commands.logs).invoke(sagemaker_commands.logs, name=NAME, follow=True)
    assert capsys.readouterr().err == f"the training job continues; 'trainctl sagemaker stop {NAME}' ends it\n"


def test_the_help_needs_no_cdk8s(sagemaker: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = sagemaker("submit", "--help")
    assert code == 0
    assert "--input-mode" in out
    assert "submit" in sagemaker("--help").out
    assert sys.argv[0] == "trainctl"


def test_a_job_that_cannot_run_there_does_not_run_here_either(sagemaker: Command, tmp_path: Path) -> None:
    code, _, err = sagemaker("run-local", "digits-spot", f"--volumes={tmp_path}")
    assert code == 2
    assert "is an elastic job, and SageMaker has no workers that come and go" in err


def test_a_local_run_without_the_training_environment_says_how_to_make_it(
    sagemaker: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = sagemaker("run-local", "digits")
    assert code == 2
    assert "make setup" in err
