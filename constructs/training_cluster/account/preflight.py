"""The checks of `trainctl cluster preflight`, at the same time; none changes anything."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from training_cluster.account.ami_checks import ami_releases_exist
from training_cluster.account.bootstrap_checks import account_is_bootstrapped
from training_cluster.account.check_result import OK, CheckResult, skipped
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.data_set_checks import data_set_fits_on_lustre
from training_cluster.account.existing_checks import (
    existing_efs_can_be_mounted,
    existing_lustre_can_be_mounted,
    existing_vpc_has_the_subnets,
)
from training_cluster.account.existing_vpc_checks import existing_subnets_have_a_way_out, existing_vpc_has_dns
from training_cluster.account.export_checks import exports_are_up_to_date
from training_cluster.account.image_checks import images_are_in_ecr
from training_cluster.account.quota_checks import (
    eks_quota_allows_the_cluster,
    fsx_quotas_allow_the_file_system,
    network_interface_quota_allows_the_nodes,
    vcpu_quotas_allow_the_nodes,
    vpc_quotas_allow_the_network,
)
from training_cluster.account.reservation_checks import reservations_fit_the_node_groups
from training_cluster.account.subnet_checks import subnets_have_addresses
from training_cluster.account.upgrade_checks import (
    kubernetes_release_is_the_next_one,
    no_job_holds_an_update,
    stack_can_be_updated,
)
from training_cluster.account.zone_checks import (
    zones_are_accepted_by_eks,
    zones_are_of_the_region,
    zones_offer_the_instance_types,
)
from training_workloads.aws.errors import NoPermissionError, RequestError
from training_workloads.cluster.failures import ClusterError

__all__ = ["CHECKS", "Check", "run_checks"]

Check = Callable[[Deployment], Iterator[CheckResult]]

# Service Quotas answers few requests at a time; more threads would only wait.
_THREADS = 8

#: In the order of the table.
CHECKS: tuple[Check, ...] = (
    zones_are_of_the_region,
    zones_are_accepted_by_eks,
    zones_offer_the_instance_types,
    vcpu_quotas_allow_the_nodes,
    network_interface_quota_allows_the_nodes,
    vpc_quotas_allow_the_network,
    eks_quota_allows_the_cluster,
    fsx_quotas_allow_the_file_system,
    reservations_fit_the_node_groups,
    ami_releases_exist,
    account_is_bootstrapped,
    existing_vpc_has_the_subnets,
    existing_vpc_has_dns,
    existing_subnets_have_a_way_out,
    existing_lustre_can_be_mounted,
    existing_efs_can_be_mounted,
    subnets_have_addresses,
    images_are_in_ecr,
    data_set_fits_on_lustre,
    exports_are_up_to_date,
    stack_can_be_updated,
    kubernetes_release_is_the_next_one,
    no_job_holds_an_update,
)


def run_checks(deployment: Deployment, checks: tuple[Check, ...] = CHECKS) -> list[CheckResult]:
    """Return the result of every check, in their order.

    Args:
        deployment: The configuration in its account.
        checks: The checks.

    Raises:
        AwsError: There are no valid credentials, there is no region, or AWS cannot be reached: then no check says
            anything.
    """
    who, region = deployment.account.identity, deployment.account.region
    first = CheckResult(check="credentials", state=OK, actual=f"{who} in {region}")
    with ThreadPoolExecutor(_THREADS) as threads:
        found = threads.map(lambda check: _found(check, deployment), checks)
        return [first, *(result for results in found for result in results)]


def _found(check: Check, deployment: Deployment) -> list[CheckResult]:
    """Return the results of a check; where it cannot finish, the last one says why."""
    results: list[CheckResult] = []
    name = check.__name__.replace("_", " ")
    try:
        for result in check(deployment):
            results.append(result)
    except (NoPermissionError, ClusterError) as error:
        results.append(skipped(name, error.event, error.fix))
    except RequestError as error:
        results.append(skipped(name, str(error)))
    return results
