import json

import pytest
from aws_cdk import aws_kms as kms

from tests.constructs.site import Site, properties
from tests.schemas import check_manifest
from training_cluster import EbsDriver, MetricsServer, TrainingCluster
from training_workloads import InputError


def test_the_driver_has_its_role_before_its_pods_start(site: Site) -> None:
    EbsDriver(site.stack, "Ebs", cluster=site.cluster)
    template = site.template()
    (addon,) = template.find_resources("AWS::EKS::Addon").values()
    assert addon["Properties"]["AddonName"] == "aws-ebs-csi-driver"
    ((association_id, association),) = template.find_resources("AWS::EKS::PodIdentityAssociation").items()
    assert association_id in addon["DependsOn"]
    assert association["Properties"]["Namespace"] == "kube-system"
    assert association["Properties"]["ServiceAccount"] == "ebs-csi-controller-sa"
    assert any("AmazonEBSCSIDriverPolicy" in json.dumps(role) for role in properties(template, "AWS::IAM::Role"))


def test_claims_without_a_class_get_an_encrypted_gp3(site: Site) -> None:
    EbsDriver(site.stack, "Ebs", cluster=site.cluster)
    (manifest,) = properties(site.template(), "Custom::AWSCDK-EKS-KubernetesResource")
    (document,) = json.loads(manifest["Manifest"])
    check_manifest(document)
    assert document["metadata"]["annotations"] == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert document["provisioner"] == "ebs.csi.aws.com"
    assert document["parameters"] == {"type": "gp3", "encrypted": "true"}
    assert document["volumeBindingMode"] == "WaitForFirstConsumer"


@pytest.mark.parametrize("method", [True, False])
def test_volumes_have_the_key_of_the_cluster(method: bool, site: Site) -> None:
    key = kms.Key(site.stack, "Key")
    cluster = TrainingCluster(site.stack, "Training", vpc=site.vpc, encryption_key=key)
    if method:
        cluster.add_ebs_driver("Ebs")
    else:
        EbsDriver(site.stack, "Ebs", cluster=cluster)
    manifests = [json.dumps(each) for each in properties(site.template(), "Custom::AWSCDK-EKS-KubernetesResource")]
    (storage_class,) = [each for each in manifests if "StorageClass" in each]
    assert "kmsKeyId" in storage_class


def test_the_metrics_server_is_an_addon(site: Site) -> None:
    MetricsServer(site.stack, "Metrics", cluster=site.cluster)
    (addon,) = properties(site.template(), "AWS::EKS::Addon")
    assert addon["AddonName"] == "metrics-server"


def test_rejects_a_second_one(site: Site) -> None:
    EbsDriver(site.stack, "Ebs", cluster=site.cluster)
    MetricsServer(site.stack, "Metrics", cluster=site.cluster)
    with pytest.raises(InputError, match=r"^'Site/Other' is 'a second driver of EBS', but Site/Ebs owns that of the"):
        EbsDriver(site.stack, "Other", cluster=site.cluster)
    with pytest.raises(InputError, match=r"^'Site/More' is 'a second metrics server', but Site/Metrics owns that of"):
        MetricsServer(site.stack, "More", cluster=site.cluster)
