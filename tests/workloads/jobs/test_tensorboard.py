from typing import Any

import cdk8s
import pytest

from tests.schemas import check_manifest
from training_workloads import InputError, SharedVolume, TensorBoard, TensorBoardSpec


def manifests(**changes: Any) -> dict[str, dict[str, Any]]:
    chart = cdk8s.Testing.chart()
    TensorBoard(chart, "TensorBoard", spec=TensorBoardSpec(**{"image": "image:1", **changes}))
    documents = cdk8s.Testing.synth(chart)
    for document in documents:
        check_manifest(document)
    return {document["kind"]: dict(document) for document in documents}


def test_service_policy_and_deployment_mean_the_same_pod() -> None:
    made = manifests(name="mine", namespace="team")
    labels = made["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert labels == {"app.kubernetes.io/name": "mine"}
    assert made["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert made["Service"]["spec"]["selector"] == labels
    assert {document["metadata"]["namespace"] for document in made.values()} == {"team"}


def test_another_folder() -> None:
    volume = SharedVolume(claim="training-efs", mount_path="/efs/")
    made = manifests(volume=volume, folder="runs/digits")
    assert made["Deployment"]["spec"]["template"]["spec"]["containers"][0]["command"][2] == "/efs/runs/digits"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": ""}, "'image' is ''; give the image's address"),
        ({"name": "1board"}, "'name' is '1board'; give lower-case letters, digits and '-', a letter first"),
        ({"folder": "/runs"}, "'folder' is '/runs'; give a folder of the file system without a slash first"),
        ({"volume": "/fsx"}, "'volume' is '/fsx'; give SharedVolume(...)"),
        ({"namespace": "A"}, "'namespace' is 'A'; give lower-case letters"),
    ],
)
def test_rejects_what_cannot_run(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        TensorBoardSpec(**{"image": "image:1", **change})
    assert message in str(caught.value)
