import json

from tests.constructs.site import Site, properties
from training_cluster import Namespaces


def test_defines_all_but_the_default_namespace(site: Site) -> None:
    made = Namespaces(site.stack, "Namespaces", cluster=site.cluster, names=["research", "default", "research"])
    assert made.names == ["research"]
    (manifest,) = properties(site.template(), "Custom::AWSCDK-EKS-KubernetesResource")
    (document,) = json.loads(manifest["Manifest"])
    assert document["kind"] == "Namespace"
    assert document["metadata"]["name"] == "research"
