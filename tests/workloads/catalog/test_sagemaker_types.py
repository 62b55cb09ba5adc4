import boto3
import pytest

from training_workloads import INSTANCE_TYPES
from training_workloads.catalog.sagemaker_types import EFA_IN_TRAINING_JOBS, bare_type, sagemaker_type

IN_THE_API = set(boto3.session.Session()._session.get_service_model("sagemaker").shape_for("TrainingInstanceType").enum)


@pytest.mark.parametrize("name", [name for name, one in INSTANCE_TYPES.items() if one.gpus])
def test_a_type_is_accepted_if_the_api_has_it(name: str) -> None:
    assert (not list(sagemaker_type(name))) == (f"ml.{name}" in IN_THE_API)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("g4dn.metal", "g4dn.12xlarge"), ("gr6.4xlarge", "g6.8xlarge"), ("gr6.8xlarge", "g6.16xlarge")],
)
def test_the_nearest_type_is_named(name: str, nearest: str) -> None:
    (problem,) = sagemaker_type(name)
    rest = f"but SageMaker has no training jobs on this type; choose {nearest}, which has the same GPU"
    assert str(problem) == f"'instance_type' is '{name}', {rest}"


def test_a_type_that_the_catalog_does_not_have_is_rejected() -> None:
    (problem,) = sagemaker_type("p9.48xlarge")
    assert "it is not known" in str(problem)
    (problem,) = sagemaker_type("m5.xlarge")
    assert "it has no GPU" in str(problem)


def test_sagemakers_spelling_is_understood() -> None:
    assert bare_type("ml.p4d.24xlarge") == bare_type("p4d.24xlarge") == "p4d.24xlarge"


def test_types_with_efa_in_training_jobs_have_efa() -> None:
    assert all(INSTANCE_TYPES[name].efa_interfaces for name in EFA_IN_TRAINING_JOBS)
