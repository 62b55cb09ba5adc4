import pytest

from training_workloads import InputError
from training_workloads.platform.mirror import ecr_registry, mirror_commands, mirrored

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
    assert f"helm push nvidia-device-plugin-0.20.1.tgz oci://{MIRROR}" in commands
    image = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.3"
    copy = f"{MIRROR}/cluster-autoscaler:v1.34.3"
    assert f"docker pull {image} && docker tag {image} {copy} && docker push {copy}" in commands


@pytest.mark.parametrize("mirror", ["docker.io/mine", "mirror", f"https://{MIRROR}", f"{MIRROR}/"])
def test_rejects_another_kind_of_registry(mirror: str) -> None:
    (problem,) = ecr_registry("mirror", mirror)
    assert str(problem).startswith(f"'mirror' is {mirror!r}; give the address of an ECR registry")


def test_rejects_an_unknown_release() -> None:
    with pytest.raises(
        InputError, match=r"^'kubernetes_version' is '1.20'; give one of 1.31, 1.32, 1.33, 1.34, 1.35, 1.36, 1.37$"
    ):
        list(mirror_commands(MIRROR, "1.20"))
