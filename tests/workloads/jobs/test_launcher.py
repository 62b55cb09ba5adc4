from training_workloads import gpu_instance_type
from training_workloads.jobs.launcher import launcher_environment, mpirun_command, rank_environment
from training_workloads.jobs.worker_resources import worker_resources


def test_the_command_line() -> None:
    assert mpirun_command(16, ["A"], ["python", "train.py"]) == [
        *("mpirun", "-np", "16", "--hostfile", "/etc/mpi/hostfile", "--map-by", "slot", "--bind-to", "none"),
        *("--mca", "pml", "ob1", "--mca", "btl", "^openib"),
        *("-x", "PATH", "-x", "LD_LIBRARY_PATH", "-x", "A"),
        *("python", "train.py"),
    ]


def test_ranks_on_p3_use_tcp() -> None:
    p3 = gpu_instance_type("p3.16xlarge")
    assert rank_environment(worker_resources(p3, 8), workers=2) == {
        "TF_NUM_INTRAOP_THREADS": "7",
        "TF_NUM_INTEROP_THREADS": "2",
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "600",
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,NET",
        "NCCL_SOCKET_IFNAME": "^lo,docker,veth",
    }


def test_ranks_on_p4d_ask_libfabric_for_efa() -> None:
    p4d = gpu_instance_type("p4d.24xlarge")
    environment = rank_environment(worker_resources(p4d, 8), workers=2)
    assert environment["FI_PROVIDER"] == "efa"
    assert environment["TF_NUM_INTRAOP_THREADS"] == "11"


def test_one_worker_needs_no_network_for_nccl() -> None:
    p3 = gpu_instance_type("p3.16xlarge")
    assert "NCCL_SOCKET_IFNAME" not in rank_environment(worker_resources(p3, 8), workers=1)


def test_open_mpi_5_is_told_what_the_operator_tells_open_mpi_4() -> None:
    environment = launcher_environment({"A": "1"})
    assert environment == {
        "PRTE_MCA_prte_keep_fqdn_hostnames": "true",
        "PRTE_MCA_plm_ssh_args": "-o ConnectionAttempts=10",
        "A": "1",
    }
