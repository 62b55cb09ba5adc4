"""A cluster with a queue, to which teams are added."""

import pytest

from tests.constructs.site import Site
from training_cluster import TrainingCluster

ADMIN = "arn:aws:iam::111122223333:role/Admin"


@pytest.fixture
def cluster(site: Site) -> TrainingCluster:
    made = TrainingCluster(site.stack, "Shared", vpc=site.vpc, admin_arns=[ADMIN])
    made.add_gpu_node_group("gpu", instance_type="p4d.24xlarge", max_size=4)
    made.add_job_queue("Queue")
    return made
