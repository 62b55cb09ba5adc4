import pytest

from training_workloads import InputError
from training_workloads.catalog.images import Image
from training_workloads.platform.mirror import chart_repository, ecr_registry, mirror_commands, mirrored

MIRROR = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/copies"


def test_a_copy_keeps_the_last_part_of_its_name_and_its_digest() -> None:
    image = Image(name="nvcr.io/nvidia/k8s-device-plugin", tag="v1", digest="sha256:b1", source="")
    assert str(mirrored(image, MIRROR)) == f"{MIRROR}/k8s-device-plugin:v1@sha256:b1"
    assert mirrored(image, None) is image


def test_the_commands_log_in_make_repositories_and_copy_charts_and_images() -> None:
    commands = list(mirror_commands(MIRROR, "1.34"))
    assert commands[0] == (
        "aws ecr get-login-password --region eu-west-1 | "
        "skopeo login --username AWS --password-stdin 111122223333.dkr.ecr.eu-west-1.amazonaws.com"
    )
    # EKS has the EFA plugin's image in its registry of the region, which needs a login too.
    assert "--password-stdin 602401143452.dkr.ecr.eu-west-1.amazonaws.com" in commands[1]
    made = [command.rpartition(" ")[2] for command in commands if "create-repository" in command]
    assert made == [
        "copies/aws-efa-k8s-device-plugin",
        "copies/busybox",
        "copies/cluster-autoscaler",
        "copies/dcgm-exporter",
        "copies/etcd",
        "copies/k8s-device-plugin",
        "copies/kueue",
        "copies/mpi-operator",
        "copies/nvidia-device-plugin",
    ]
    assert (
        "helm pull nvidia-device-plugin --repo https://nvidia.github.io/k8s-device-plugin --version 0.20.1" in commands
    )
    assert "helm pull oci://registry.k8s.io/kueue/charts/kueue --version 0.19.6" in commands
    assert f"helm push kueue-0.19.6.tgz oci://{MIRROR}" in commands
    assert f"helm push nvidia-device-plugin-0.20.1.tgz oci://{MIRROR}" in commands


def test_images_are_copied_by_digest_and_keep_it() -> None:
    commands = list(mirror_commands(MIRROR, "1.34"))
    copy = "skopeo copy --all --preserve-digests docker://"
    # Skopeo takes no tag beside a digest.
    digest = "5c3a56440ffc76eac79e7d7e840153c1fbe7b6e02d415e76a45ba2e0ef99a266"
    autoscaler = f"registry.k8s.io/autoscaling/cluster-autoscaler@sha256:{digest}"
    assert f"{copy}{autoscaler} docker://{MIRROR}/cluster-autoscaler:v1.34.5" in commands
    assert f"{copy}registry.k8s.io/kueue/kueue:v0.19.6 docker://{MIRROR}/kueue:v0.19.6" in commands
    assert len([command for command in commands if command.startswith("skopeo copy")]) == 8
    assert not any("docker push" in command for command in commands)


def test_the_archive_of_a_chart_is_checked_where_its_digest_is_known() -> None:
    commands = list(mirror_commands(MIRROR, "1.35"))
    assert (
        "echo '90276dafe65cf5d4328ef8313baf6cfb9d130683e0c9f3c28a03b4d8a9ed8f6e  cluster-autoscaler-9.59.0.tgz' | "
        f"sha256sum --check --strict && helm push cluster-autoscaler-9.59.0.tgz oci://{MIRROR}"
    ) in commands


@pytest.mark.parametrize("mirror", ["docker.io/mine", "mirror", f"https://{MIRROR}", f"{MIRROR}/"])
def test_rejects_another_kind_of_registry(mirror: str) -> None:
    (problem,) = ecr_registry("mirror", mirror)
    assert str(problem).startswith(f"'mirror' is {mirror!r}; give the address of an ECR registry")


@pytest.mark.parametrize(
    "mirror",
    [
        MIRROR,
        "111122223333.dkr.ecr-fips.us-east-1.amazonaws.com",
        "111122223333.dkr-ecr.us-east-1.on.aws/mirror",
        "111122223333.dkr-ecr-fips.us-gov-west-1.on.aws",
        "111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/mirror",
        "111122223333.dkr.ecr.eusc-de-east-1.amazonaws.eu",
        "111122223333.dkr.ecr.us-iso-east-1.c2s.ic.gov",
    ],
)
def test_accepts_every_address_of_a_registry(mirror: str) -> None:
    assert not list(ecr_registry("mirror", mirror))


@pytest.mark.parametrize(
    ("mirror", "message"),
    [
        (
            "111122223333.dkr.ecr.cn-north-1.amazonaws.com/mirror",
            "registries of cn-north-1 are not in amazonaws.com; did you mean "
            "111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/mirror?",
        ),
        (
            "111122223333.dkr.ecr.us-east-1.amazonaws.com.cn",
            "registries of us-east-1 are not in amazonaws.com.cn; did you mean "
            "111122223333.dkr.ecr.us-east-1.amazonaws.com?",
        ),
        (
            "111122223333.dkr.ecr.us-esat-1.amazonaws.com",
            "AWS has no region us-esat-1; did you mean us-west-1 or us-east-1 or us-west-2?",
        ),
        (
            "111122223333.dkr-ecr.us-iso-east-1.on.aws",
            "registries of us-iso-east-1 are not in on.aws; give the address with .dkr.ecr.",
        ),
    ],
)
def test_rejects_an_address_that_no_registry_has(mirror: str, message: str) -> None:
    assert [str(problem) for problem in ecr_registry("mirror", mirror)] == [f"'mirror' is {mirror!r}, but {message}"]


def test_charts_come_from_the_address_to_which_cdks_function_logs_in() -> None:
    plain = "oci://111122223333.dkr.ecr.us-east-1.amazonaws.com/mirror/chart"
    for host in ("dkr.ecr.us-east-1.amazonaws.com", "dkr.ecr-fips.us-east-1.amazonaws.com", "dkr-ecr.us-east-1.on.aws"):
        assert chart_repository(f"111122223333.{host}/mirror", "chart") == plain


def test_the_commands_know_the_region_of_every_address() -> None:
    first = next(mirror_commands("111122223333.dkr-ecr-fips.us-west-2.on.aws/m", "1.35"))
    assert first.startswith("aws ecr get-login-password --region us-west-2 | skopeo login")


def test_rejects_an_unknown_release() -> None:
    with pytest.raises(
        InputError, match=r"^'kubernetes_version' is '1.20'; give one of 1.31, 1.32, 1.33, 1.34, 1.35, 1.36, 1.37$"
    ):
        list(mirror_commands(MIRROR, "1.20"))


def test_a_mirror_in_china_is_filled_from_the_registry_of_its_partition() -> None:
    commands = list(mirror_commands("111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn", "1.35"))
    assert any("docker://918309763551.dkr.ecr.cn-north-1.amazonaws.com.cn/eks/aws-efa" in each for each in commands)
    assert not any("602401143452" in each for each in commands)
