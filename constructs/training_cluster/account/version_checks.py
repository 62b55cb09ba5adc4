"""Checks of versions that the region publishes: the AMI of the nodes, and the account's bootstrap for the CDK."""

from collections.abc import Iterator

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment

__all__ = ["account_is_bootstrapped", "ami_releases_exist"]

# https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html, read 2026-11-23
_NEWEST = "/aws/service/eks/optimized-ami/{release}/amazon-linux-2023/x86_64/nvidia/recommended/release_version"

# The name of the image of release 1.35.0-20260917 ends with 1.35-v20260917:
# https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html
_IMAGE = "amazon-eks-node-al2023-x86_64-nvidia-{release}-v{day}"

# The version that the CDK's default synthesizer requires, also in each template's rule `CheckBootstrapVersion`:
# https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-env.html
_BOOTSTRAP = "/cdk-bootstrap/hnb659fds/version"
_OLDEST_BOOTSTRAP = 6


def ami_releases_exist(deployment: Deployment) -> Iterator[CheckResult]:
    """Look up each `ami_release`, and the newest one for the groups without."""
    groups = deployment.config.node_groups
    for release in dict.fromkeys(each.ami_release for each in groups.values()):
        yield _newest(deployment) if release is None else _named(deployment, release)


def _newest(deployment: Deployment) -> CheckResult:
    kubernetes = deployment.config.kubernetes_version
    found = deployment.account.parameter(_NEWEST.format(release=kubernetes))
    return decided(
        "AMI release",
        found is not None,
        actual=f"{found}, the newest" if found else f"EKS names no AMI with NVIDIA's driver for {kubernetes}",
        needed=f"the newest for Kubernetes {kubernetes}",
        remedy="set another kubernetes_version",
    )


def _named(deployment: Deployment, release: str) -> CheckResult:
    version, _, day = release.partition("-")
    name = _IMAGE.format(release=".".join(version.split(".")[:2]), day=day)
    filters = [{"Name": "name", "Values": [name]}]
    images = deployment.account.ask("ec2", "describe_images", Owners=["amazon"], Filters=filters)["Images"]
    region = deployment.account.region
    return decided(
        "AMI release",
        bool(images),
        actual=f"{images[0]['ImageId']} ({name})" if images else f"{region} has no image {name}",
        needed=release,
        remedy="give a release of https://github.com/awslabs/amazon-eks-ami/releases, or omit ami_release",
    )


def account_is_bootstrapped(deployment: Deployment) -> Iterator[CheckResult]:
    """Look up the version of the bootstrap stack, into whose bucket `cdk deploy` uploads the assets."""
    found = deployment.account.parameter(_BOOTSTRAP)
    account = deployment.account.identity.split(":")[4]
    yield decided(
        "CDK bootstrap",
        found is not None and int(found) >= _OLDEST_BOOTSTRAP,
        actual=f"version {found}" if found else "none",
        needed=f"version {_OLDEST_BOOTSTRAP} or newer",
        remedy=f"run 'cdk bootstrap aws://{account}/{deployment.account.region}'",
    )
