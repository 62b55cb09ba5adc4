"""The check of the exports of a deployed file system."""

from collections.abc import Iterator

from training_cluster.account.check_result import CheckResult, decided, skipped
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.lustre_state import NO_LAG, read_lustre

__all__ = ["exports_are_up_to_date"]

_CHECK = "Lustre exports"


def exports_are_up_to_date(deployment: Deployment) -> Iterator[CheckResult]:
    """Report changes that wait for their export, and data repositories that do not work."""
    if not deployment.lustre_ids:
        yield skipped(_CHECK, f"there is no {deployment.cluster_stack} with a file system yet")
    for id in deployment.lustre_ids:
        state = read_lustre(deployment.account, id)
        if state is None:
            yield skipped(_CHECK, f"{deployment.account.region} of this account has no {id} (any more)")
            continue
        check = f"{_CHECK} of {id}"
        if state.has_unknown_exports and not state.unexported:
            yield skipped(check, NO_LAG, "try again some minutes after a job has written")
            continue
        known = "unknown" if state.export_lag_seconds is None else f"{state.export_lag_seconds} s"
        yield decided(
            check,
            not state.unexported,
            actual=state.unexported or f"{state.lifecycle}, lag {known}",
            needed="no change that waits",
            remedy="wait; 'aws fsx describe-data-repository-associations' shows a fault, the key of the bucket often",
        )
