"""The container images that this project names, by digest where two sources or the publisher's own agree on one.

A tag of Docker Hub, ECR Public, NGC and gcr.io can be moved to other content; a digest cannot. To check a row:
`skopeo inspect --format '{{.Digest}}' docker://<name>:<tag>`. `make outdated` compares each row
with its registry.
"""

from dataclasses import dataclass
from datetime import date

__all__ = [
    "AUTOSCALER_IMAGES",
    "BASE_IMAGES",
    "CHOWN_IMAGE",
    "DCGM_EXPORTER_IMAGE",
    "EFA_DEVICE_PLUGIN_IMAGE",
    "ETCD_IMAGE",
    "IMAGES",
    "KUEUE_IMAGE",
    "MPI_OPERATOR_IMAGE",
    "NVIDIA_DEVICE_PLUGIN_IMAGE",
    "Image",
]

_CHECKED = date(2026, 11, 28)
_NOT_FOUND = "no record of this tag's digest was found, and the registry was out of reach"
#: Such a pull request promotes an image with its digest. The checklist of each says that the registry is immutable.
_PROMOTED = "https://github.com/kubernetes/k8s.io/pull/"
_IMMUTABLE = "no two records of this tag's digest were found; registry.k8s.io replaces no tag"


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """A container image.

    Attributes:
        name: Address without tag and digest.
        tag: Tag, for people: where there is a digest, it decides.
        digest: Digest of the index over all platforms.
        source: URL of the digest, or of the tag where there is no digest.
        checked: Date on which it was read.
        unknown: Why there is no digest.
    """

    name: str
    tag: str
    digest: str | None = None
    source: str
    checked: date = _CHECKED
    unknown: str | None = None

    @property
    def version(self) -> str:
        """The tag with the digest, as charts take it for a tag."""
        return f"{self.tag}@{self.digest}" if self.digest else self.tag

    def __str__(self) -> str:
        return f"{self.name}:{self.version}"


#: The image's tag has no "v".
MPI_OPERATOR_IMAGE = Image(
    name="mpioperator/mpi-operator",
    tag="0.8.2",
    source="https://github.com/kubeflow/mpi-operator/releases",
    checked=date(2026, 11, 21),
    unknown=_NOT_FOUND,
)

#: Makes the job folders of a new file system writable for the non-root user of the jobs. Docker rebuilds the tag:
#: seven digests of it were seen. Ten public repositories pin this one; one of them read it from Docker Hub and ECR
#: Public on 2026-10-05.
CHOWN_IMAGE = Image(
    name="public.ecr.aws/docker/library/busybox",
    tag="1.37.0",
    digest="sha256:bdf57e528e45e4433820e045b29b4597825a1c9e38353532d90a01445013f82e",
    source="https://github.com/search?type=code&q=bdf57e528e45e4433820e045b29b4597825a1c9e38353532d90a01445013f82e",
)

#: torch's etcd backends speak etcd's v2 API, which 3.5 has behind a flag and 3.6 has no more
#: (https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-3.6.md); the newest patch that was found.
ETCD_IMAGE = Image(
    name="gcr.io/etcd-development/etcd",
    tag="v3.5.29",
    source="https://github.com/etcd-io/etcd/pull/21553",
    checked=date(2026, 11, 23),
    unknown=_NOT_FOUND,
)

NVIDIA_DEVICE_PLUGIN_IMAGE = Image(
    name="nvcr.io/nvidia/k8s-device-plugin",
    tag="v0.20.1",
    source="https://github.com/NVIDIA/k8s-device-plugin/releases",
    checked=date(2026, 11, 23),
    unknown=_NOT_FOUND,
)

EFA_DEVICE_PLUGIN_IMAGE = Image(
    # The chart's own default; `registries.py` has the address in each region.
    name="602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin",
    tag="v0.5.20",
    source="https://github.com/aws/eks-charts/blob/master/stable/aws-efa-k8s-device-plugin/values.yaml",
    checked=date(2026, 11, 21),
    unknown="AWS's registry answers with credentials alone, and no record of this tag's digest was found",
)

#: Two public projects run it by this digest, and one records it as that of this tag.
DCGM_EXPORTER_IMAGE = Image(
    name="nvcr.io/nvidia/k8s/dcgm-exporter",
    tag="4.6.0-4.8.3-distroless",
    digest="sha256:613ab03c11d442fd960ff515f547e9921537454a712d08160bc8f677f89f1c35",
    source="https://github.com/search?type=code&q=613ab03c11d442fd960ff515f547e9921537454a712d08160bc8f677f89f1c35",
)

KUEUE_IMAGE = Image(
    name="registry.k8s.io/kueue/kueue",
    tag="v0.19.6",
    source="https://github.com/kubernetes-sigs/kueue/releases",
    checked=date(2026, 11, 23),
    unknown=_IMMUTABLE,
)


def _autoscaler(tag: str, pull_request: int, digest: str | None = None) -> Image:
    return Image(
        name="registry.k8s.io/autoscaling/cluster-autoscaler",
        tag=tag,
        digest=digest,
        source=f"{_PROMOTED}{pull_request}",
        unknown=None if digest else _IMMUTABLE,
    )


#: By tag, of which each release of Kubernetes has one.
AUTOSCALER_IMAGES = {
    image.tag: image
    for image in (
        _autoscaler("v1.31.4", 8543, "sha256:cdb0577a19fe1c7b573eb01f8372258d61897302b7268414eb135c6a4b247731"),
        _autoscaler("v1.32.5", 8815),
        _autoscaler("v1.33.6", 9760, "sha256:7b44e0f075b2c8f9952e339b6c396cd4d1c3831c24c0fe092a3e708c45e6ec51"),
        _autoscaler("v1.34.5", 9760, "sha256:5c3a56440ffc76eac79e7d7e840153c1fbe7b6e02d415e76a45ba2e0ef99a266"),
        _autoscaler("v1.35.2", 9760, "sha256:aac369dc283927a623deb1af54696efcc722ae79255aa07788422e495bab887d"),
        _autoscaler("v1.36.1", 9760),
    )
}

#: What the Dockerfiles of training/ start from; a test compares them.
BASE_IMAGES = (
    # Ten public repositories pin this digest, one of them with this day's tag.
    Image(
        name="debian",
        tag="bookworm-20261005",
        digest="sha256:2c037a04925515fdd6ea85ea14a682d0e79931f5e9f5d07b6dbfc6ba12f9e858",
        source="https://github.com/search?type=code&q=2c037a04925515fdd6ea85ea14a682d0e79931f5e9f5d07b6dbfc6ba12f9e858",
    ),
    Image(
        name="nvidia/cuda",
        tag="12.2.2-cudnn8-devel-ubuntu22.04",
        source="https://hub.docker.com/r/nvidia/cuda/tags",
        unknown=_NOT_FOUND,
    ),
)

#: Every image that this project names.
IMAGES = (
    MPI_OPERATOR_IMAGE,
    CHOWN_IMAGE,
    ETCD_IMAGE,
    NVIDIA_DEVICE_PLUGIN_IMAGE,
    EFA_DEVICE_PLUGIN_IMAGE,
    DCGM_EXPORTER_IMAGE,
    KUEUE_IMAGE,
    *AUTOSCALER_IMAGES.values(),
    *BASE_IMAGES,
)
