import email
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.constructs.instance_types import DISKLESS
from training_cluster.nodes.node_user_data import node_config, node_script, node_user_data
from training_workloads import gpu_instance_type


def test_both_parts_are_where_cloud_init_and_nodeadm_look_for_them() -> None:
    message = email.message_from_string(node_user_data(gpu_instance_type("p4d.24xlarge"), efa=True))
    assert message.get_content_type() == "multipart/mixed"
    _, config, script = message.walk()
    assert (config.get_content_type(), script.get_content_type()) == ("application/node.eks.aws", "text/x-shellscript")
    assert yaml.safe_load(str(config.get_payload())) == node_config(gpu_instance_type("p4d.24xlarge"), efa=True)
    assert str(script.get_payload()).startswith("#!/bin/bash\n")


def test_a_large_node_with_local_disks() -> None:
    assert node_config(gpu_instance_type("p4d.24xlarge"), efa=False) == {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {
            "kubelet": {
                "config": {
                    "cpuManagerPolicy": "static",
                    "systemReserved": {"cpu": "1000m"},
                    "topologyManagerPolicy": "best-effort",
                }
            },
            "instance": {"localStorage": {"strategy": "RAID0"}},
        },
    }


def test_a_small_node_keeps_half_a_core_and_one_without_disks_has_no_array() -> None:
    spec = node_config(gpu_instance_type("g5.xlarge"), efa=False)["spec"]
    assert spec["kubelet"]["config"]["systemReserved"] == {"cpu": "500m"}
    assert "instance" not in node_config(gpu_instance_type(DISKLESS), efa=False)["spec"]


def test_containers_may_pin_memory_for_efa_and_open_as_many_files_as_before() -> None:
    spec = node_config(gpu_instance_type("p4d.24xlarge"), efa=True)["spec"]
    assert spec["containerd"]["baseRuntimeSpec"]["process"]["rlimits"] == [
        {"type": "RLIMIT_NOFILE", "soft": 65536, "hard": 1048576},
        {"type": "RLIMIT_MEMLOCK", "soft": 4398046511104, "hard": 4398046511104},
    ]


def test_images_are_pulled_in_parallel_by_option_only() -> None:
    instance = gpu_instance_type("p4d.24xlarge")
    assert node_config(instance, efa=True, fast_image_pull=True)["spec"]["featureGates"] == {"FastImagePull": True}
    assert "featureGates" not in node_config(instance, efa=True)["spec"]


def test_huge_pages_hold_what_the_workers_ask_for_and_are_there_with_efa_only() -> None:
    assert "vm.nr_hugepages=2560 " in node_script(gpu_instance_type("p4d.24xlarge"), efa=True)
    assert "hugepages" not in node_script(gpu_instance_type("p4d.24xlarge"), efa=False)


@pytest.mark.parametrize(
    ("name", "clocks"), [("p3dn.24xlarge", "877,1530"), ("p4d.24xlarge", "1215,1410"), ("p5.48xlarge", "2619,1980")]
)
def test_the_clocks_are_those_of_the_catalog(name: str, clocks: str) -> None:
    script = node_script(gpu_instance_type(name), efa=False)
    assert "apply nvidia-smi --persistence-mode=1" in script
    assert f"apply nvidia-smi --applications-clocks={clocks}\n" in script


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A machine of whose programs only those that the script calls are stand-ins, with one network interface."""
    programs = {
        "logger": 'echo "$4" >>"$LOG"',
        "nvidia-smi": 'exit "${SMI:-0}"',
        "ip": "echo default via 10.0.0.1 dev eth7 proto dhcp",
    }
    for name, body in programs.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "eth7").mkdir()
    (tmp_path / "eth7/mtu").write_text("9001\n")
    return tmp_path


def log_of(node: Path, **environment: str) -> str:
    log = node / "log"
    log.touch()
    script = node_script(gpu_instance_type("p3dn.24xlarge"), efa=False).replace("/sys/class/net", str(node))
    path = f"{node}:/usr/sbin:/usr/bin:/sbin:/bin"
    subprocess.run(["bash", "-c", script], env={"PATH": path, "LOG": str(log), **environment}, check=True)
    return log.read_text()


def test_the_script_runs_and_says_nothing_where_all_is_well(node: Path) -> None:
    assert log_of(node) == ""


def test_a_setting_that_fails_is_logged_and_does_not_stop_the_node(node: Path) -> None:
    log = log_of(node, SMI="3")
    assert "error: this failed: nvidia-smi --persistence-mode=1" in log
    assert "error: this failed: nvidia-smi --applications-clocks=877,1530" in log


def test_small_frames_are_logged(node: Path) -> None:
    (node / "eth7/mtu").write_text("1500\n")
    assert log_of(node) == "error: eth7 has an MTU of 1500, not 9001\n"
