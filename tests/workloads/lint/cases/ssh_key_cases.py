"""What the rules of `lint.rules.ssh_key_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE, ranks

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "keys-not-found": [
        (
            {"spec sshAuthMountPath": "/home/mpiuser/ssh"},
            "spec sshAuthMountPath",
            "is /home/mpiuser/ssh, where ssh does not look for keys; write the .ssh folder of the image's user",
        ),
        (
            {"spec sshAuthMountPath": "~/.ssh"},
            "spec sshAuthMountPath",
            "is '~/.ssh', and no absolute path; write the .ssh folder of the image's user",
        ),
        (
            {"spec sshAuthMountPath": "/root/.ssh/"},
            "spec sshAuthMountPath",
            "is '/root/.ssh/': the operator restricts the keys' mode only for /root/.ssh, and ssh rejects "
            "them; write /root/.ssh",
        ),
        (
            ranks(16, "--allow-run-as-root"),
            "spec sshAuthMountPath",
            "is /home/mpiuser/.ssh, but the launcher runs as root, whose ssh looks in /root/.ssh; omit it, "
            "or write /root/.ssh",
        ),
        (
            {"LAUNCHER-POD securityContext": {"runAsUser": 0}},
            "spec sshAuthMountPath",
            "is /home/mpiuser/.ssh, but the launcher runs as root, whose ssh looks in /root/.ssh; omit it, "
            "or write /root/.ssh",
        ),
    ],
    "mount-over-keys": [
        (
            {"LAUNCHER-CONTAINER volumeMounts": [{"name": "a", "mountPath": "/etc/mpi"}]},
            "LAUNCHER-CONTAINER volumeMounts 0 mountPath",
            "is /etc/mpi, but the operator mounts the hostfile at /etc/mpi; mount it elsewhere",
        ),
        (
            {
                "LAUNCHER-CONTAINER volumeMounts": [
                    {"name": "a", "mountPath": "/etc/mpi/hostfile", "subPath": "hostfile"}
                ]
            },
            "LAUNCHER-CONTAINER volumeMounts 0 mountPath",
            "is /etc/mpi/hostfile, but the operator mounts the hostfile at /etc/mpi; mount it elsewhere",
        ),
        (
            {"WORKER-CONTAINER volumeMounts 0 mountPath": "/home/mpiuser/.ssh/"},
            "WORKER-CONTAINER volumeMounts 0 mountPath",
            "is /home/mpiuser/.ssh/, but the operator mounts the ssh keys at /home/mpiuser/.ssh; remove the mount and "
            "its volume: the operator makes the keys",
        ),
        (
            {
                "WORKER-CONTAINER volumeMounts 0 mountPath": "/home/mpiuser",
                "WORKER-POD volumes 0": {"name": "shm", "secret": {"secretName": "a"}},
            },
            "WORKER-CONTAINER volumeMounts 0 mountPath",
            "is /home/mpiuser, but the operator mounts the ssh keys at /home/mpiuser/.ssh; remove the mount and its "
            "volume: the operator makes the keys",
        ),
    ],
    "capabilities-of-sshd": [
        (
            {"spec sshAuthMountPath": GONE, "WORKER-CONTAINER securityContext": {"capabilities": {"drop": ["ALL"]}}},
            "WORKER-CONTAINER securityContext capabilities drop",
            "takes SETUID, SETGID, SYS_CHROOT from sshd, which closes every connection without them; add: [SETUID, "
            "SETGID, SYS_CHROOT], or run sshd as another user",
        ),
        (
            {
                "spec sshAuthMountPath": GONE,
                "WORKER-CONTAINER securityContext": {"capabilities": {"drop": ["SYS_CHROOT"]}},
            },
            "WORKER-CONTAINER securityContext capabilities drop",
            "takes SYS_CHROOT from sshd, which closes every connection without them; add: [SYS_CHROOT], or run sshd as "
            "another user",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "keys-not-found": [
        {},
        {"spec sshAuthMountPath": GONE, **ranks(16, "--allow-run-as-root")},
        {**ranks(16, "--allow-run-as-root"), "LAUNCHER-POD securityContext": {"runAsUser": 1000}},
        {"spec sshAuthMountPath": "${KEYS}"},
        {"spec sshAuthMountPath": "/keys", **ranks(16, "--mca", "plm_rsh_args", "-i /keys/id_rsa")},
    ],
    "mount-over-keys": [
        {},
        {"WORKER-CONTAINER volumeMounts 0 mountPath": "/etc/mpi"},
        {"WORKER-CONTAINER volumeMounts 0 mountPath": "/home/mpiuser"},
        {"LAUNCHER-CONTAINER volumeMounts": [{"name": "a", "mountPath": "/etc/mpi-hosts"}]},
    ],
    "capabilities-of-sshd": [
        # sshd of another user.
        {"WORKER-CONTAINER securityContext": {"capabilities": {"drop": ["ALL"]}}},
        {
            "spec sshAuthMountPath": GONE,
            "WORKER-CONTAINER securityContext": {
                "capabilities": {"drop": ["ALL"], "add": ["SETUID", "SETGID", "SYS_CHROOT"]}
            },
        },
    ],
}
