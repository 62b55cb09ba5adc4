from typing import Any

import pytest

from tests.workloads.sagemaker.sagemaker_samples import job, request
from training_workloads.sagemaker.request_model import model_problems


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("RoleArn", 1, "'request' is 'CreateTrainingJob', but Invalid type for parameter RoleArn, value: 1"),
        ("Unknown", "a", 'but Unknown parameter in input: "Unknown"'),
        ("TrainingJobName", "a_b", r"'TrainingJobName' is 'a_b', but its form is not \[a-zA-Z0-9\]"),
        ("HyperParameters", {str(n): "" for n in range(101)}, "it has 101 entries, and SageMaker takes at most 100"),
        (
            "HyperParameters",
            {"a": "x" * 2501},
            "'HyperParameters.a' is 'x.*', but it has 2501 characters",
        ),
        ("Environment", {"1": "a"}, "'Environment.1' is '1', but its form is not"),
        ("RetryStrategy", {"MaximumRetryAttempts": 31}, "'RetryStrategy.MaximumRetryAttempts' is 31; give 30 or less"),
        (
            "ResourceConfig",
            {"InstanceType": "ml.p9.48xlarge", "InstanceCount": 1},
            "'ResourceConfig.InstanceType' is 'ml.p9.48xlarge', but SageMaker does not know it",
        ),
        (
            "InputDataConfig",
            [{"ChannelName": "a b", "DataSource": {}}],
            r"'InputDataConfig\[0\].ChannelName' is 'a b', but its form is not",
        ),
    ],
)
def test_what_the_api_rejects_is_named(field: str, value: Any, message: str) -> None:
    problems = list(model_problems(request(job()) | {field: value}))
    with pytest.raises(AssertionError, match=message):
        raise AssertionError("\n".join(map(str, problems)))


def test_a_request_of_a_job_has_no_problem() -> None:
    assert list(model_problems(request(job()))) == []
