"""The checks of `trainctl cluster preflight`, at the same time; none changes anything."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from training_cluster.account import (
    addon_checks,
    endpoint_checks,
    existing_checks,
    existing_data_checks,
    existing_role_checks,
    image_checks,
    lustre_checks,
    quota_checks,
    replacement_checks,
    reservation_checks,
    reservation_group_checks,
    role_checks,
    upgrade_checks,
    version_checks,
    zone_checks,
)
from training_cluster.account.check_result import OK, CheckResult, skipped
from training_cluster.account.checked_deployment import Deployment
from training_workloads.aws.errors import NoPermissionError, RequestError
from training_workloads.cluster.failures import ClusterError

__all__ = ["CHECKS", "Check", "run_checks"]

Check = Callable[[Deployment], Iterator[CheckResult]]

# Service Quotas answers few requests at a time; more threads would only wait.
_THREADS = 8

#: In the order of the table.
CHECKS: tuple[Check, ...] = (
    zone_checks.zones_are_of_the_region,
    zone_checks.zones_are_accepted_by_eks,
    zone_checks.zones_offer_the_instance_types,
    zone_checks.zones_offer_the_system_nodes,
    quota_checks.vcpu_quotas_allow_the_nodes,
    quota_checks.network_interface_quota_allows_the_nodes,
    quota_checks.vpc_quotas_allow_the_network,
    quota_checks.eks_quota_allows_the_cluster,
    quota_checks.fsx_quotas_allow_the_file_system,
    reservation_checks.reservations_fit_the_node_groups,
    role_checks.spot_has_its_role,
    reservation_group_checks.reservation_groups_fit_the_node_groups,
    reservation_group_checks.placement_groups_exist,
    version_checks.ami_releases_exist,
    addon_checks.addon_versions_are_offered,
    version_checks.account_is_bootstrapped,
    existing_checks.existing_vpc_has_the_subnets,
    existing_checks.existing_vpc_has_dns,
    existing_checks.existing_subnets_have_a_way_out,
    endpoint_checks.existing_vpc_endpoints_admit_the_nodes,
    existing_checks.existing_lustre_can_be_mounted,
    existing_checks.existing_efs_can_be_mounted,
    existing_data_checks.existing_bucket_fits,
    existing_data_checks.existing_key_fits,
    existing_data_checks.existing_repository_fits,
    existing_role_checks.existing_roles_fit,
    existing_role_checks.permissions_boundary_exists,
    zone_checks.subnets_have_addresses,
    image_checks.images_are_in_ecr,
    lustre_checks.data_set_fits_on_lustre,
    lustre_checks.exports_are_up_to_date,
    upgrade_checks.stack_can_be_updated,
    replacement_checks.deployed_resources_stay,
    upgrade_checks.kubernetes_release_is_the_next_one,
    upgrade_checks.no_job_holds_an_update,
)


def run_checks(deployment: Deployment, checks: tuple[Check, ...] = CHECKS) -> list[CheckResult]:
    """Return the result of every check, in their order.

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
