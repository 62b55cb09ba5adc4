"""The rules of a plan: what a person must know before a deployment."""

from training_cluster.changes.findings import Rule
from training_cluster.changes.network_rules import addresses_are_taken, cluster_stays_in_its_vpc
from training_cluster.changes.node_group_rules import node_groups_are_updated
from training_cluster.changes.object_rules import (
    drivers_are_removed,
    namespaces_and_definitions_are_deleted,
    objects_move,
    queues_are_removed,
    releases_are_uninstalled,
    volumes_change,
)
from training_cluster.changes.release_rules import release_is_the_next_one
from training_cluster.changes.stack_rules import (
    exports_are_imported,
    identities_are_fixed,
    names_are_taken,
    nested_stacks_change,
    stacks_leave_the_app,
    values_change,
)
from training_cluster.changes.storage_rules import data_is_deleted, data_repositories_overlap, storage_shrinks

__all__ = ["RULES"]

#: In the order of the table.
RULES: tuple[Rule, ...] = (
    data_is_deleted,
    namespaces_and_definitions_are_deleted,
    releases_are_uninstalled,
    queues_are_removed,
    drivers_are_removed,
    identities_are_fixed,
    names_are_taken,
    addresses_are_taken,
    cluster_stays_in_its_vpc,
    release_is_the_next_one,
    exports_are_imported,
    stacks_leave_the_app,
    objects_move,
    volumes_change,
    storage_shrinks,
    data_repositories_overlap,
    node_groups_are_updated,
    nested_stacks_change,
    values_change,
)
