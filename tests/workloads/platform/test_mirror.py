import pytest

from training_workloads import InputError
from training_workloads.platform.mirror import chart_repository, ecr_registry, mirror_commands, mirrored

MIRROR = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/copies"


def test_a_copy_keeps_the_last_part_of_its_name() -> None:
    assert mirrored("nvcr.io/nvidia/k8s-device-plugin", MIRROR) == f"{MIRROR}/k8s-device-plugin"
    assert mirrored("mpioperator/mpi-operator:0.8.2", MIRROR) == f"{MIRROR}/mpi-operator:0.8.2"
    assert mirrored("mpioperator/mpi-operator:0.8.2", None) == "mpioperator/mpi-operator:0.8.2"


def test_the_commands_log_in_make_repositories_and_copy_charts_and_images() -> None:
    commands = list(mirror_commands(MIRROR, "1.34"))
    assert commands[0] == (
        "aws ecr get-login-password --region eu-west-1 | "
        "docker login --username AWS --password-stdin 111122223333.dkr.ecr.eu-west-1.amazonaws.com"
    )
    # AWS has the EFA plugin's image in another registry, which needs a login too.
    assert "--password-stdin 602401143452.dkr.ecr.us-west-2.amazonaws.com" in commands[1]
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
    kueue, kueue_copy = "registry.k8s.io/kueue/kueue:v0.19.6", f"{MIRROR}/kueue:v0.19.6"
    assert f"docker pull {kueue} && docker tag {kueue} {kueue_copy} && docker push {kueue_copy}" in commands
    dcgm, dcgm_copy = "nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0-4.8.3-distroless", f"{MIRROR}/dcgm-exporter"
    assert f"docker pull {dcgm} && docker tag {dcgm} {dcgm_copy}:4.6.0-4.8.3-distroless" in "\n".join(commands)
    assert f"helm push nvidia-device-plugin-0.20.1.tgz oci://{MIRROR}" in commands
    image = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.3"
    copy = f"{MIRROR}/cluster-autoscaler:v1.34.3"
    assert f"docker pull {image} && docker tag {image} {copy} && docker push {copy}" in commands


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
    assert first.startswith("aws ecr get-login-password --region us-west-2 | docker login")


def test_rejects_an_unknown_release() -> None:
    with pytest.raises(
        InputError, match=r"^'kubernetes_version' is '1.20'; give one of 1.31, 1.32, 1.33, 1.34, 1.35, 1.36, 1.37$"
    ):
        list(mirror_commands(MIRROR, "1.20"))
