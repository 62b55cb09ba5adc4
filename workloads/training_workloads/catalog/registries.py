"""EKS's own registries, with the images of its add-ons and device plugins, by region.

"View Amazon container image registries for Amazon EKS add-ons": https://docs.aws.amazon.com/eks/latest/userguide/add-ons-images.html
(read 2026-11-28 in the guide's source, and for ap-southeast-5 on its page for China). The row of ap-east-2 is left out,
because its address there is one of ap-east-1.
"""

from dataclasses import replace

from training_workloads.catalog.images import EFA_DEVICE_PLUGIN_IMAGE, Image
from training_workloads.catalog.regions import PARTITIONS, partition_of
from training_workloads.validation import MISSING, Problem, Problems

__all__ = ["EKS_REGISTRIES", "efa_plugin_image", "has_eks_registry"]

_SHARED_ACCOUNT = "602401143452"

# The older regions share one account.
_SHARED = (
    "ap-south-1 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-southeast-1 ap-southeast-2 ca-central-1 eu-central-1 "
    "eu-north-1 eu-west-1 eu-west-2 eu-west-3 sa-east-1 us-east-1 us-east-2 us-west-1 us-west-2"
).split()
_ACCOUNTS = dict.fromkeys(_SHARED, _SHARED_ACCOUNT) | {
    "af-south-1": "877085696533",
    "ap-east-1": "800184023465",
    "ap-south-2": "900889452093",
    "ap-southeast-3": "296578399912",
    "ap-southeast-4": "491585149902",
    "ap-southeast-5": "151610086707",
    "ap-southeast-6": "333609536671",
    "ap-southeast-7": "121268973566",
    "ca-west-1": "761377655185",
    "cn-north-1": "918309763551",
    "cn-northwest-1": "961992271922",
    "eu-central-2": "900612956339",
    "eu-south-1": "590381155156",
    "eu-south-2": "455263428931",
    "eusc-de-east-1": "877088126301",
    "il-central-1": "066635153087",
    "me-central-1": "759879836304",
    "me-south-1": "558608220178",
    "mx-central-1": "730335286997",
    "us-gov-east-1": "151742754352",
    "us-gov-west-1": "013241004608",
}

# A node pulls from other regions of the partition too, over the internet.
_ELSEWHERE = dict.fromkeys(PARTITIONS["aws"].regions, "us-west-2")


def _registry(region: str) -> str:
    partition = partition_of(region)
    assert partition
    return f"{_ACCOUNTS[region]}.dkr.ecr.{region}.{partition.domain}"


#: Address of the registry from which nodes of a region pull, by region. Regions of the commercial partition without a
#: row have that of us-west-2.
EKS_REGISTRIES = {
    region: _registry(region if region in _ACCOUNTS else _ELSEWHERE[region])
    for region in sorted({*_ACCOUNTS, *_ELSEWHERE})
}


def efa_plugin_image(registry: str) -> Image:
    """Return the image of the EFA device plugin in one of EKS's registries."""
    return replace(EFA_DEVICE_PLUGIN_IMAGE, name=f"{registry}/{EFA_DEVICE_PLUGIN_IMAGE.name.partition('/')[2]}")


def has_eks_registry(region: str) -> Problems:
    """Reject a missing mirror in a region from which nodes reach no registry of EKS: GPU nodes would have no EFA."""
    if partition_of(region) is not None and region not in EKS_REGISTRIES:
        yield Problem(
            path=("mirror",),
            given=MISSING,
            allowed=f"no registry of EKS is known in {region}, and its nodes cannot pull the EFA plugin from another "
            "partition",
            fix="give an ECR registry of the region with a copy ('trainctl platform mirror-commands'), or set "
            "efa: false in each node group",
        )
