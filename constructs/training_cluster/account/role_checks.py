"""Checks of roles that AWS's services have in the account."""

from collections.abc import Iterator

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment

__all__ = ["spot_has_its_role"]

# EC2 makes it with the first Spot request of a user who may. The role of EKS's node groups may not, and the group ends
# with AuthFailure.ServiceLinkedRoleCreationNotPermitted:
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html (not read here).
# A template cannot define it: CloudFormation fails where the account has it.
_SPOT_ROLE = "AWSServiceRoleForEC2Spot"
_SPOT_SERVICE = "spot.amazonaws.com"


def spot_has_its_role(deployment: Deployment) -> Iterator[CheckResult]:
    """Look up the service-linked role of EC2 Spot, where a node group has Spot instances."""
    groups = [name for name, group in deployment.config.node_groups.items() if group.capacity_type == "SPOT"]
    if not groups:
        return
    found = deployment.account.find("iam", "get_role", "NoSuchEntity", RoleName=_SPOT_ROLE)
    yield decided(
        "role of EC2 Spot",
        found is not None,
        actual=_SPOT_ROLE if found else f"the account has no {_SPOT_ROLE}",
        needed=f"{_SPOT_ROLE}, for {', '.join(groups)}",
        remedy=f"aws iam create-service-linked-role --aws-service-name {_SPOT_SERVICE} (once for the account)",
    )
