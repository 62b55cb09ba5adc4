import json
from pathlib import Path

import yaml

from scan.scanned_manifests import embedded_manifests, pods_of_job, write_manifests

JOB = {
    "kind": "MPIJob",
    "metadata": {"name": "resnet", "namespace": "research"},
    "spec": {"mpiReplicaSpecs": {"Worker": {"template": {"spec": {"containers": []}}}}},
}


def test_reads_objects_with_values_of_the_deployment() -> None:
    text = json.dumps([{"kind": "PersistentVolume", "spec": "ID"}]).partition("ID")
    manifest = {"Fn::Join": ["", [text[0], {"Ref": "FileSystem"}, text[2]]]}
    template = {
        "Resources": {
            "Volume": {"Type": "Custom::AWSCDK-EKS-KubernetesResource", "Properties": {"Manifest": manifest}},
            "Bucket": {"Type": "AWS::S3::Bucket"},
        }
    }
    assert list(embedded_manifests(template)) == [{"kind": "PersistentVolume", "spec": "known-at-deployment"}]


def test_returns_the_pods_of_a_job() -> None:
    (pod,) = pods_of_job(JOB)
    assert pod == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "resnet-worker",
            "namespace": "research",
            "labels": {"training.kubeflow.org/job-name": "resnet"},
        },
        "spec": {"containers": []},
    }


def test_writes_objects_and_the_pods_of_jobs(tmp_path: Path) -> None:
    write_manifests([JOB], tmp_path / "new" / "jobs.yaml")
    kinds = [document["kind"] for document in yaml.safe_load_all((tmp_path / "new" / "jobs.yaml").read_text())]
    assert kinds == ["MPIJob", "Pod"]
