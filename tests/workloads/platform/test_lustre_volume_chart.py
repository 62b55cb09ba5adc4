from typing import Any

import cdk8s
import pytest

from tests.schemas import check_manifest
from training_workloads import InputError, LustreVolumeChart


def test_another_claim_in_another_namespace() -> None:
    chart = LustreVolumeChart(
        cdk8s.App(),
        "Lustre",
        file_system_id="fs-1",
        dns_name="fs-1.fsx.aws",
        mount_name="abc",
        capacity_gib=2400,
        claim="datasets",
        namespace="research",
    )
    volume, claim = documents = cdk8s.Testing.synth(chart)
    for document in documents:
        check_manifest(document)
    assert volume["metadata"] == {"name": "datasets-research"}
    assert claim["metadata"] == {"name": "datasets", "namespace": "research"}
    assert claim["spec"]["volumeName"] == "datasets-research"


def test_rejects_names_that_kubernetes_rejects() -> None:
    values: dict[str, Any] = {"file_system_id": "fs-1", "dns_name": "fs-1.fsx.aws", "mount_name": "abc"}
    with pytest.raises(InputError) as caught:
        LustreVolumeChart(cdk8s.App(), "Lustre", **values, capacity_gib=2400, claim="My Claim", namespace="A B")
    assert str(caught.value).splitlines() == [
        "'claim' is 'My Claim'; give a name of lower-case letters, digits, '-' and '.', at most 253",
        "'namespace' is 'A B'; give lower-case letters, digits and '-', at most 63",
    ]
