"""What the rules of `lint.rules.option_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import BIND, HOSTS, WITHOUT_EFA, launched, ranks, script, variables

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "unknown-option": [
        (
            ranks(16, "--hostifle", "/h"),
            "LAUNCHER-CONTAINER command",
            "has --hostifle, which mpirun does not know, and ends; did you mean --hostfile?",
        ),
        (
            ranks(16, "--bindto", "none"),
            "LAUNCHER-CONTAINER command",
            "has --bindto, which mpirun does not know, and ends; did you mean --bind-to?",
        ),
        (
            launched("mpirun", "-X", "A", "train"),
            "LAUNCHER-CONTAINER command",
            "has -X, which mpirun does not know, and ends; did you mean -x?",
        ),
        (
            ranks(16, "--min-np", "8"),
            "LAUNCHER-CONTAINER command",
            "has --min-np, an option of horovodrun, with which mpirun ends; remove it",
        ),
        (
            launched("horovodrun", "-np", "16", "-x", "A", "train"),
            "LAUNCHER-CONTAINER command",
            "has -x, an option of mpirun, with which horovodrun ends; remove it, or give it in --mpi-args",
        ),
        (
            launched("horovodrun", "-np", "16", "--mca", "pml", "ob1", "train"),
            "LAUNCHER-CONTAINER command",
            "has --mca, an option of mpirun, with which horovodrun ends; remove it, or give it in --mpi-args",
        ),
        (
            launched("horovodrun", "--hostfile", "/h", "--slots-per-hosts", "8", "train"),
            "LAUNCHER-CONTAINER command",
            "has --slots-per-hosts, which horovodrun does not know, and ends; did you mean --slots-per-host?",
        ),
    ],
    "option-without-value": [
        (
            launched("mpirun", "-np", "--hostfile", "/etc/mpi/hostfile", "train"),
            "LAUNCHER-CONTAINER command",
            "has -np without a value: --hostfile is taken for it; add the value",
        ),
        (
            ranks(16, "--mca", "btl_tcp_if_include", "--bind-to", "none"),
            "LAUNCHER-CONTAINER command",
            "has --mca btl_tcp_if_include without a value: --bind-to is taken for it; add the value",
        ),
        (
            launched("mpirun", "-np", "16", "-x"),
            "LAUNCHER-CONTAINER command",
            "has -x without a value: the command ends there; add the value",
        ),
    ],
    "option-behind-program": [
        (
            launched("mpirun", "-np", "16", *HOSTS, *BIND, "-x", "NCCL_DEBUG", "INFO", "python", "train.py"),
            "LAUNCHER-CONTAINER command",
            "runs 'INFO' as the program: -x takes one word; write -x NCCL_DEBUG=INFO",
        ),
        (
            launched("mpirun", "-np", "16", *HOSTS, *BIND, "-x", "NCCL_SOCKET_IFNAME", "eth0", "./train"),
            "LAUNCHER-CONTAINER command",
            "runs 'eth0' as the program: -x takes one word; write -x NCCL_SOCKET_IFNAME=eth0",
        ),
        (
            launched("mpirun", "-np", "16", "-x", "NCCL_DEBUG", "INFO", "-x", "FI_PROVIDER", "train"),
            "LAUNCHER-CONTAINER command",
            "runs 'INFO' as the program: the options behind it are its arguments; write -x NCCL_DEBUG=INFO",
        ),
        (
            launched("mpirun", "-np", "16", "16", "--hostfile", "/etc/mpi/hostfile", "train"),
            "LAUNCHER-CONTAINER command",
            "runs '16' as the program: the options behind it are its arguments; remove it",
        ),
        (
            launched(
                "horovodrun",
                "-np",
                "16",
                "min-np",
                "8",
                "--host-discovery-script",
                "/etc/mpi/discover_hosts.sh",
                "train",
            ),
            "LAUNCHER-CONTAINER command",
            "runs 'min-np' as the program: an option begins with dashes; write --min-np",
        ),
    ],
    "parameter-with-equals": [
        (
            ranks(16, "--mca", "pml=ob1"),
            "LAUNCHER-CONTAINER command",
            "has --mca pml=ob1: Open MPI reads two words, the name and the value; write --mca pml ob1",
        ),
    ],
    "misspelled-export": [
        (
            {
                **launched("mpirun", "-np", "16", *HOSTS, *BIND, "-x", "NCCL_DEUBG", "train"),
                **variables("LAUNCHER", NCCL_DEBUG="INFO"),
            },
            "LAUNCHER-CONTAINER command",
            "has -x NCCL_DEUBG, which is not set; the launcher's variable is NCCL_DEBUG; write -x NCCL_DEBUG",
        ),
    ],
    "mpi-parameter": [
        (
            ranks(16, "--mca", "btl_tcp_if_inlcude", "eth0"),
            "LAUNCHER-CONTAINER command",
            "sets btl_tcp_if_inlcude, a parameter that Open MPI does not have, and ignores; write btl_tcp_if_include",
        ),
        (
            ranks(16, "--mca", "blt", "tcp,self"),
            "LAUNCHER-CONTAINER command",
            "sets blt, a parameter that Open MPI does not have, and ignores; write btl",
        ),
        (
            variables("LAUNCHER", OMPI_MCA_plm_rsh_arg="-p 2222"),
            "LAUNCHER-CONTAINER env 0",
            "sets plm_rsh_arg, a parameter that Open MPI does not have, and ignores; write plm_rsh_args",
        ),
    ],
    "no-mpi-transport": [
        (ranks(16, "--mca", "btl", "tcp"), "LAUNCHER-CONTAINER command", "has btl tcp without self; write tcp,self"),
        (
            ranks(16, "--mca", "btl", "openib,self"),
            "LAUNCHER-CONTAINER command",
            "has btl openib,self, and no rank reaches one on another node; write btl tcp,self",
        ),
        (
            ranks(16, "--mca", "btl", "vader,self"),
            "LAUNCHER-CONTAINER command",
            "has btl vader,self, and no rank reaches one on another node; write btl tcp,self",
        ),
    ],
    "mpi-component": [
        (
            ranks(16, "--mca", "btl", "tpc,self"),
            "LAUNCHER-CONTAINER command",
            "has btl tpc,self, but Open MPI has no component 'tpc'; write tcp",
        ),
    ],
    "interfaces-in-and-out": [
        (
            ranks(16, "--mca", "btl_tcp_if_include", "eth0", "--mca", "btl_tcp_if_exclude", "lo"),
            "LAUNCHER-CONTAINER command",
            "has btl_tcp_if_include and btl_tcp_if_exclude, which exclude each other; keep one of them",
        ),
    ],
    "remote-shell": [
        (
            ranks(16, "--mca", "plm_rsh_agent", agent),
            "LAUNCHER-CONTAINER command",
            f"has plm_rsh_agent {agent}, but the workers answer to ssh only; remove it",
        )
        for agent in ("kubectl exec", "/etc/mpi/kubexec.sh")
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "unknown-option": [
        ranks(16, "--report-bindings", "-v", "--allow-run-as-root", "--mca", "pml", "ob1", "--tag-output"),
        ranks(16, "--brand-new"),
        launched("horovodrun", "-np", "16", "--verb", "train"),
        # Python's argparse accepts the beginning of an option.
        launched("horovodrun", "-np", "16", "--slots-per-hos", "8", "train"),
        {**launched("mpirun", "-X", "A", "train"), "spec mpiImplementation": "Intel"},
        ranks(16, "$FLAGS"),
    ],
    "option-without-value": [
        ranks(16, "--mca", "pml", "ob1"),
        launched("horovodrun", "-np", "16", "--mpi-args=-x A", "train"),
        launched("mpirun", "-np", "16", "--mca", "plm_rsh_args", "-p 22", "train"),
    ],
    "option-behind-program": [
        launched("mpirun", "-np", "16", *HOSTS, *BIND, "-x", "NCCL_DEBUG", "numactl", "python", "train.py"),
        launched("mpirun", "-np", "16", *HOSTS, *BIND, "-x", "NCCL_DEBUG=INFO", "XHPL", "input"),
        launched("mpirun", "-np", "16", "all_reduce_perf", "-n", "100"),
        launched("mpirun", "-np", "16", "bash", "-x", "RUN.sh", "a"),
        script("mpirun -np 16 $FLAGS -x A train"),
        launched("mpirun", "-np", "16", "/opt/run", "-x", "A", "b"),
    ],
    "parameter-with-equals": [
        ranks(16, "--mca", "btl_tcp_if_include", "eth0"),
        ranks(16, "-x", "A=1"),
    ],
    "misspelled-export": [
        # Variables of the image.
        {**variables("LAUNCHER", LIBRARY_PATH="/opt/lib"), **ranks(16, "-x", "LD_LIBRARY_PATH")},
        launched("mpirun", "-np", "16", *HOSTS, "-x", "PATH", "-x", "LD_LIBRARY_PATH", "train"),
        {**launched("mpirun", "-x", "NCCL_DEUBG=1", "train"), **variables("LAUNCHER", NCCL_DEBUG="INFO")},
        {
            **launched("mpirun", "-x", "NCCL_ALGO1", "-x", "NCCL_ALGO", "train"),
            **variables("LAUNCHER", NCCL_ALGO="Ring"),
        },
    ],
    "mpi-parameter": [
        # Of PMIx and PRRTE.
        ranks(16, "--mca", "ptl_tcp_if_include", "eth0", "--mca", "prte_tmpdir_base", "/tmp"),
        ranks(16, "--mca", "btl_tcp_if_include", "eth0", "--mca", "pml", "ob1", "--mca", "coll_hcoll_enable", "0"),
        ranks(16, "--mca", "plm_ssh_args", "-p 22", "--mca", "io", "romio321", "--mca", "osc", "^ucx"),
        variables("LAUNCHER", OMPI_MCA_orte_keep_fqdn_hostnames="true"),
    ],
    "no-mpi-transport": [
        ranks(16, "--mca", "btl", "^openib"),
        ranks(16, "--mca", "btl", "tcp,self"),
        ranks(16, "--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp"),
        {**ranks(8, "--mca", "btl", "vader,self"), "WORKER replicas": 1},
        # UCX has TCP too.
        ranks(16, "--mca", "pml", "ucx"),
        {**ranks(16, "--mca", "btl", "openib,self"), **WITHOUT_EFA},
        ranks(16, "--mca", "btl", "$BTL"),
    ],
    "mpi-component": [
        ranks(16, "--mca", "btl", "^openib"),
        ranks(16, "--mca", "pml", "ob1", "--mca", "btl", "tcp,self"),
    ],
    "interfaces-in-and-out": [
        ranks(16, "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_exclude", "lo"),
    ],
    "remote-shell": [
        ranks(16, "--mca", "plm_rsh_agent", "ssh"),
        ranks(16, "--mca", "plm_rsh_agent", "rsh"),
        ranks(16, "--mca", "plm_rsh_agent", "/usr/bin/ssh -q"),
    ],
}
