"""What the rules of `lint.rules.network_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import BIND, ELASTIC, GONE, HOSTS, launched, ranks, script, variables

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "host-network-interface": [
        (
            variables("LAUNCHER", NCCL_SOCKET_IFNAME="en"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_SOCKET_IFNAME=en, but a pod's interface is eth0; write "
            "NCCL_SOCKET_IFNAME=^lo,docker,veth, or remove it",
        ),
        (
            launched("mpirun", "-x", "NCCL_SOCKET_IFNAME=ens5,eth1", *HOSTS, "train"),
            "LAUNCHER-CONTAINER command",
            "sets NCCL_SOCKET_IFNAME=ens5,eth1, but a pod's interface is eth0; write "
            "NCCL_SOCKET_IFNAME=^lo,docker,veth, or remove it",
        ),
        (
            variables("LAUNCHER", NCCL_SOCKET_IFNAME="=eth"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_SOCKET_IFNAME==eth, but a pod's interface is eth0; write "
            "NCCL_SOCKET_IFNAME=^lo,docker,veth, or remove it",
        ),
        (
            variables("LAUNCHER", GLOO_SOCKET_IFNAME="eth"),
            "LAUNCHER-CONTAINER env 0",
            "sets GLOO_SOCKET_IFNAME=eth, but a pod's interface is eth0; write GLOO_SOCKET_IFNAME=eth0, or remove it",
        ),
        (
            variables("WORKER", NCCL_SOCKET_IFNAME="ib0"),
            "WORKER-CONTAINER env 0",
            "sets NCCL_SOCKET_IFNAME=ib0, but a pod's interface is eth0; write "
            "NCCL_SOCKET_IFNAME=^lo,docker,veth, or remove it",
        ),
        (
            launched("mpirun", "--mca", "btl_tcp_if_include", "ens5", *HOSTS, "train"),
            "LAUNCHER-CONTAINER command",
            "sets btl_tcp_if_include ens5, but a pod's interface is eth0; write btl_tcp_if_include eth0, or remove it",
        ),
        (
            launched(*ELASTIC[:-1], "--network-interface", "bond0", "train"),
            "LAUNCHER-CONTAINER command",
            "sets --network-interface bond0, but a pod's interface is eth0; write --network-interface eth0, or "
            "remove it",
        ),
        (
            script(
                "export NCCL_SOCKET_IFNAME='ens32'\n"
                "mpirun --hostfile /etc/mpi/hostfile -mca oob_tcp_if_include ens32 train"
            ),
            "LAUNCHER-CONTAINER command",
            "sets NCCL_SOCKET_IFNAME=ens32, but a pod's interface is eth0; write "
            "NCCL_SOCKET_IFNAME=^lo,docker,veth, or remove it",
            "LAUNCHER-CONTAINER command",
            "sets oob_tcp_if_include ens32, but a pod's interface is eth0; write oob_tcp_if_include eth0, or remove it",
        ),
    ],
    "excluded-interface": [
        (
            ranks(16, "--mca", "btl_tcp_if_exclude", "lo,eth0"),
            "LAUNCHER-CONTAINER command",
            "sets btl_tcp_if_exclude lo,eth0, which excludes eth0, the only interface of a pod; remove it",
        ),
        (
            variables("LAUNCHER", NCCL_SOCKET_IFNAME="^eth0"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_SOCKET_IFNAME=^eth0, which excludes eth0, the only interface of a pod; write "
            "NCCL_SOCKET_IFNAME=^lo,docker,veth, or remove it",
        ),
        (
            variables("LAUNCHER", NCCL_SOCKET_IFNAME="^lo,eth"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_SOCKET_IFNAME=^lo,eth, which excludes eth0, the only interface of a pod; write "
            "NCCL_SOCKET_IFNAME=^lo,docker,veth, or remove it",
        ),
    ],
    "loopback-interface": [
        (
            variables("LAUNCHER", NCCL_SOCKET_IFNAME="lo"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_SOCKET_IFNAME=lo, through which no other pod can be reached; write "
            "NCCL_SOCKET_IFNAME=eth0, or remove it",
        ),
        (
            launched("mpirun", "--mca", "btl_tcp_if_include", "lo", *HOSTS, "train"),
            "LAUNCHER-CONTAINER command",
            "sets btl_tcp_if_include lo, through which no other pod can be reached; write btl_tcp_if_include "
            "eth0, or remove it",
        ),
    ],
    "host-network": [
        (
            {
                "WORKER-POD hostNetwork": True,
                "WORKER-CONTAINER command": ["sh", "-c", "mkdir -p /run/sshd && exec /usr/sbin/sshd -De"],
                "WORKER-CONTAINER readinessProbe": GONE,
            },
            "WORKER-POD hostNetwork",
            "is true, but the node's own sshd has port 22 already; remove hostNetwork: EFA devices do not need it",
        ),
        (
            # The operator adds sshd -De.
            {
                "WORKER-POD hostNetwork": True,
                "WORKER-CONTAINER command": GONE,
                "WORKER-CONTAINER readinessProbe": GONE,
            },
            "WORKER-POD hostNetwork",
            "is true, but the node's own sshd has port 22 already; remove hostNetwork: EFA devices do not need it",
        ),
        (
            {"WORKER-POD hostNetwork": True},
            "WORKER-POD hostNetwork",
            "is true, but the node's own sshd has port 22 already; remove hostNetwork: EFA devices do not need it",
        ),
    ],
    "node-dns": [
        (
            {"LAUNCHER-POD dnsPolicy": "Default"},
            "LAUNCHER-POD dnsPolicy",
            "is Default: the names of the other pods do not resolve; remove it: the default is the cluster's DNS",
        ),
        (
            {"LAUNCHER-POD dnsPolicy": "Default", "WORKER replicas": 1},
            "LAUNCHER-POD dnsPolicy",
            "is Default: the names of the other pods do not resolve; remove it: the default is the cluster's DNS",
        ),
    ],
    "rendezvous-host": [
        (
            ranks(16, "-x", "MASTER_ADDR=other-worker-0"),
            "LAUNCHER-CONTAINER command",
            "has other-worker-0 as the address of rank 0, but the pods are job-worker-0 and so on; write job-worker-0",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "host-network-interface": [
        variables("LAUNCHER", NCCL_SOCKET_IFNAME="^lo,docker"),
        variables("LAUNCHER", NCCL_SOCKET_IFNAME="eth"),
        variables("LAUNCHER", NCCL_SOCKET_IFNAME="=eth0"),
        variables("LAUNCHER", NCCL_SOCKET_IFNAME="$INTERFACE"),
        variables("LAUNCHER", NCCL_SOCKET_IFNAME=""),
        {"LAUNCHER-CONTAINER env 0": {"name": "NCCL_SOCKET_IFNAME", "value": "en"}, "WORKER-POD hostNetwork": True},
        # A second network calls its interfaces net1 and so on, or has names of its choice.
        variables("LAUNCHER", NCCL_SOCKET_IFNAME="net1"),
        {
            **variables("LAUNCHER", NCCL_SOCKET_IFNAME="ens5"),
            "WORKER template metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": "ens5"}},
        },
        {
            **variables("LAUNCHER", NCCL_SOCKET_IFNAME="ib0"),
            "WORKER-CONTAINER resources limits rdma/ib": 1,
            "WORKER-CONTAINER resources requests rdma/ib": 1,
        },
        launched("mpirun", "--mca", "btl_tcp_if_include", "10.0.0.0/16", *HOSTS, *BIND, "train"),
        launched("mpirun", "--mca", "btl_tcp_if_exclude", "ens5", *HOSTS, *BIND, "train"),
    ],
    "excluded-interface": [
        ranks(16, "--mca", "btl_tcp_if_exclude", "lo,docker0"),
        variables("LAUNCHER", NCCL_SOCKET_IFNAME="^lo,docker,veth"),
        {**variables("LAUNCHER", NCCL_SOCKET_IFNAME="^eth0"), "WORKER-POD hostNetwork": True},
    ],
    "loopback-interface": [
        variables("LAUNCHER", NCCL_SOCKET_IFNAME="^lo"),
        {**variables("LAUNCHER", NCCL_SOCKET_IFNAME="lo"), "WORKER replicas": 1},
    ],
    "host-network": [
        # What the node's interfaces are called depends on its image.
        {
            **variables("LAUNCHER", NCCL_SOCKET_IFNAME="eth0"),
            "WORKER-POD hostNetwork": True,
            "WORKER-CONTAINER command": ["/usr/sbin/sshd", "-De", "-p", "2222"],
            "WORKER-CONTAINER readinessProbe tcpSocket port": 2222,
        },
        {
            "WORKER-POD hostNetwork": True,
            "WORKER-CONTAINER command": ["/usr/sbin/sshd", "-De", "-p", "2222"],
            "WORKER-CONTAINER readinessProbe tcpSocket port": 2222,
        },
        {
            "WORKER-POD hostNetwork": True,
            "WORKER-CONTAINER command": ["/usr/sbin/sshd", "-De", "-p2222"],
            "WORKER-CONTAINER readinessProbe": GONE,
        },
        {"WORKER-POD hostNetwork": False},
    ],
    "node-dns": [
        {"LAUNCHER-POD dnsPolicy": "ClusterFirst"},
        # The operator writes the policy of such pods.
        {"WORKER-POD dnsPolicy": "Default", "WORKER-POD hostNetwork": True},
    ],
    "rendezvous-host": [
        ranks(16, "-x", "MASTER_ADDR=job-worker-0.job"),
        ranks(16, "-x", "MASTER_ADDR=$RANK_0"),
    ],
}
