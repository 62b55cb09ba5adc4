"""A job whose traffic is encrypted, whose containers are isolated, and which IAM knows by its tag."""

from dataclasses import replace

import pytest

from tests.workloads.sagemaker.sagemaker_samples import PLACE, job, request
from training_workloads.validation import InputError


def test_traffic_is_encrypted_on_tcp_and_containers_are_isolated_when_asked_for() -> None:
    plain = request(job("resnet50-p4d"))
    assert not {"EnableInterContainerTrafficEncryption", "EnableNetworkIsolation", "Tags"} & plain.keys()
    made = request(job("resnet50-p4d", encrypt_traffic=True, network_isolation=True))
    assert made["EnableInterContainerTrafficEncryption"] is True
    assert made["EnableNetworkIsolation"] is True
    # IPsec does not see what EFA sends.
    assert made["Environment"]["NCCL_NET"] == "Socket"
    assert "FI_PROVIDER" not in made["Environment"]
    assert request(job("resnet50-p5", encrypt_traffic=True))["Environment"]["NCCL_NET"] == "Socket"


def test_a_job_has_the_tag_of_the_stack() -> None:
    tagged = request(job("resnet50-p4d"), replace(PLACE, job_tag="StackTraining8D1A"))
    assert tagged["Tags"] == [{"Key": "training-cluster:jobs-of", "Value": "StackTraining8D1A"}]


def test_a_job_that_demands_efa_has_no_encrypted_traffic() -> None:
    message = (
        "'encrypt_traffic' is True, but the job demands EFA, whose traffic SageMaker does not encrypt; omit it, or "
        r"omit efa_interfaces \(4\) of the job: NCCL then takes TCP"
    )
    with pytest.raises(InputError, match=message):
        job("resnet50-p4d", encrypt_traffic=True, spec={"efa_interfaces": 4})
