"""Checks of versions that the region publishes: the AMI of the nodes, and the account's bootstrap for the CDK."""

from collections.abc import Iterable, Iterator

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment
from training_cluster.nodes.ami_release import is_named, newest_parameter, valid_name
from training_workloads.catalog.ami_releases import Ami

__all__ = ["account_is_bootstrapped", "ami_releases_exist"]

_CHECK: dict[Ami, str] = {"nvidia": "AMI release", "standard": "AMI release of the system nodes"}
_MISSING: dict[Ami, str] = {"nvidia": "AMI with NVIDIA's driver", "standard": "AMI"}

# The name of the image of release 1.35.0-20260917 ends with 1.35-v20260917:
# https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html
_IMAGE = "amazon-eks-node-al2023-x86_64-{ami}-{release}-v{day}"

# The version that the CDK's default synthesizer requires, also in each template's rule `CheckBootstrapVersion`:
# https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-env.html
_BOOTSTRAP = "/cdk-bootstrap/hnb659fds/version"
_OLDEST_BOOTSTRAP = 6


def ami_releases_exist(deployment: Deployment) -> Iterator[CheckResult]:
    """Look up each `ami_release`, and the newest one where it is `latest`."""
    config = deployment.config
    for release in dict.fromkeys(each.ami_release for each in config.node_groups.values()):
        of_release = {
            group.instance_type: None for group in config.node_groups.values() if group.ami_release == release
        }
        yield _release(deployment, release, "nvidia", of_release)
    yield _release(deployment, config.system_nodes.ami_release, "standard", {config.system_nodes.instance_type: None})


def _release(deployment: Deployment, release: str, ami: Ami, instance_types: Iterable[str]) -> CheckResult:
    return _named(deployment, release, ami) if is_named(release) else _newest(deployment, ami, instance_types)


def _newest(deployment: Deployment, ami: Ami, instance_types: Iterable[str]) -> CheckResult:
    kubernetes = deployment.config.kubernetes_version
    found = deployment.account.parameter(newest_parameter(kubernetes, ami))
    faults = [each for name in instance_types for each in valid_name(found, ami, name)] if found else []
    actual = f"{found}, the newest" if found else f"EKS names no {_MISSING[ami]} for {kubernetes}"
    return decided(
        _CHECK[ami],
        found is not None and not faults,
        actual="; ".join(dict.fromkeys([actual, *(each.allowed for each in faults)])),
        needed=f"the newest for Kubernetes {kubernetes}",
        remedy=faults[0].fix if faults else "set another kubernetes_version",
    )


def _named(deployment: Deployment, release: str, ami: Ami) -> CheckResult:
    version, _, day = release.partition("-")
    name = _IMAGE.format(ami=ami, release=".".join(version.split(".")[:2]), day=day)
    filters = [{"Name": "name", "Values": [name]}]
    images = deployment.account.ask("ec2", "describe_images", Owners=["amazon"], Filters=filters)["Images"]
    region = deployment.account.region
    return decided(
        _CHECK[ami],
        bool(images),
        actual=f"{images[0]['ImageId']} ({name})" if images else f"{region} has no image {name}",
        needed=release,
        remedy="give a release of https://github.com/awslabs/amazon-eks-ami/releases, or 'latest'",
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
