"""What the rules of `lint.rules.sshd_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE, HOSTS, launched, ranks

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "arguments-without-sshd": [
        (
            {"WORKER-CONTAINER command": GONE, "WORKER-CONTAINER args": ["-De"]},
            "WORKER-CONTAINER args",
            "begins with -De, which the image's entry point gets: no command names sshd; add command: "
            "[/usr/sbin/sshd], or omit args",
        ),
    ],
    "sshd-in-other-folder": [
        (
            {"WORKER-CONTAINER command": ["/usr/bin/sshd", "-De"]},
            "WORKER-CONTAINER command",
            "starts /usr/bin/sshd; write /usr/sbin/sshd",
        ),
    ],
    "sshd-ends-at-once": [
        (
            {"WORKER-CONTAINER command": ["/usr/sbin/sshd", "-d"]},
            "WORKER-CONTAINER command",
            "runs sshd -d, which serves one connection, and ends; write /usr/sbin/sshd -De",
        ),
        (
            {"WORKER-CONTAINER command": ["/usr/sbin/sshd", "-e"]},
            "WORKER-CONTAINER command",
            "runs sshd without -D: it goes to the background, and the container ends; write /usr/sbin/sshd -De",
        ),
        (
            {"WORKER-CONTAINER command": ["bash", "-c", "mkdir -p /run/sshd && /usr/sbin/sshd -p 22"]},
            "WORKER-CONTAINER command",
            "runs sshd without -D: it goes to the background, and the container ends; write /usr/sbin/sshd -De",
        ),
        (
            {"WORKER-CONTAINER command": ["sh", "-c", "service ssh start"]},
            "WORKER-CONTAINER command",
            "ends with 'service ssh start', which returns at once, and the container ends; write /usr/sbin/sshd -De",
        ),
        (
            {"WORKER-CONTAINER args": ["sleep", "infinity"]},
            "WORKER-CONTAINER command",
            "gives sshd the argument 'sleep', with which it ends; write /usr/sbin/sshd -De",
        ),
    ],
    "sshd-without-path": [
        (
            {"WORKER-CONTAINER command": ["sshd", "-De"]},
            "WORKER-CONTAINER command",
            "starts 'sshd' without its folder, with which sshd ends; write /usr/sbin/sshd",
        ),
    ],
    "probe-not-at-sshd": [
        (
            {"WORKER-CONTAINER readinessProbe": {"httpGet": {"path": "/", "port": 8080}}},
            "WORKER-CONTAINER readinessProbe httpGet",
            "asks by HTTP, but the worker runs only sshd; write tcpSocket: {port: 22}",
        ),
        (
            {"WORKER-CONTAINER command": ["/usr/sbin/sshd", "-De", "-p", "2222"]},
            "WORKER-CONTAINER readinessProbe tcpSocket port",
            "is 22, but the worker's sshd listens on 2222; write 2222",
        ),
        (
            {
                "WORKER-CONTAINER ports": [{"name": "ssh", "containerPort": 22}],
                "WORKER-CONTAINER readinessProbe": {"tcpSocket": {"port": 2222}},
            },
            "WORKER-CONTAINER readinessProbe tcpSocket port",
            "is 2222, but the worker's sshd listens on 22; write 22",
        ),
        (
            {
                "WORKER-CONTAINER ports": [{"name": "ssh", "containerPort": 22}],
                "WORKER-CONTAINER livenessProbe": {"httpGet": {"port": "ssh"}},
            },
            "WORKER-CONTAINER livenessProbe httpGet",
            "asks by HTTP, but the worker runs only sshd; write tcpSocket: {port: 22}",
        ),
    ],
    "ssh-port-differs": [
        (
            {
                "WORKER-CONTAINER command": ["/usr/sbin/sshd", "-De", "-p", "2222"],
                "WORKER-CONTAINER readinessProbe": GONE,
            },
            "LAUNCHER-CONTAINER command",
            'connects to port 22, but the workers\' sshd listens on 2222; add --mca plm_rsh_args "-p 2222", '
            "or let sshd listen on 22",
        ),
        (
            {**ranks(16, "--mca", "plm_rsh_args", "-p 2222"), "WORKER-CONTAINER ports": [{"containerPort": 22}]},
            "LAUNCHER-CONTAINER command",
            "connects to port 2222, but the workers' sshd listens on 22; write -p 22",
        ),
        (
            {
                "WORKER-CONTAINER command": ["/usr/sbin/sshd", "-De", "-p", "2222"],
                **launched("horovodrun", "-np", "16", *HOSTS, "-p", "2022", "train"),
            },
            "LAUNCHER-CONTAINER command",
            "connects to port 2022, but the workers' sshd listens on 2222; write -p 2222",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "arguments-without-sshd": [
        {"WORKER-CONTAINER command": GONE},
        {"WORKER-CONTAINER command": GONE, "WORKER-CONTAINER args": ["sshd", "-De"]},
    ],
    "sshd-in-other-folder": [
        {},
        {"WORKER-CONTAINER command": ["/opt/ssh/sbin/sshd", "-De"]},
    ],
    "sshd-ends-at-once": [
        {},
        {"WORKER-CONTAINER command": ["/usr/sbin/sshd", "-eD", "-p", "22"]},
        {"WORKER-CONTAINER command": ["bash", "-c", "/usr/sbin/sshd; sleep infinity"]},
        {"WORKER-CONTAINER command": ["bash", "-c", "service ssh start && tail -f /dev/null"]},
        {"WORKER-CONTAINER command": GONE},
        {"WORKER-CONTAINER command": ["bash", "-c", "exec /usr/sbin/sshd -De -o Port=22 2>&1"]},
    ],
    "sshd-without-path": [
        {},
        {"WORKER-CONTAINER command": ["$SSHD", "-De"]},
    ],
    "probe-not-at-sshd": [
        {
            "WORKER-CONTAINER command": ["bash", "-c", "python metrics.py & /usr/sbin/sshd -De"],
            "WORKER-CONTAINER readinessProbe": {"httpGet": {"path": "/", "port": 8080}},
        },
        {"WORKER-CONTAINER readinessProbe": {"tcpSocket": {"port": 2222}}},
        {
            "WORKER-CONTAINER command": ["/usr/sbin/sshd", "-Dep2222"],
            "WORKER-CONTAINER readinessProbe": {"tcpSocket": {"port": 2222}},
        },
        {
            "WORKER-CONTAINER ports": [{"containerPort": 22}],
            "WORKER-CONTAINER readinessProbe": {"exec": {"command": ["true"]}},
        },
        {
            "WORKER-CONTAINER command": ["/start"],
            "WORKER-CONTAINER ports": [{"containerPort": 22}],
            "WORKER-CONTAINER readinessProbe": {"tcpSocket": {"port": 8080}},
        },
    ],
    "ssh-port-differs": [
        # The probe expects 22 too: sshd is the one at the wrong port, which the rule on the probe reports.
        {"WORKER-CONTAINER command": ["/usr/sbin/sshd", "-De", "-p", "2222"]},
        {
            **ranks(16, "--mca", "plm_rsh_args", "-p 2222"),
            "WORKER-CONTAINER command": ["/usr/sbin/sshd", "-De", "-o", "Port=2222"],
        },
        ranks(16, "--mca", "plm_rsh_args", "-p 2222"),
        {
            "WORKER-CONTAINER command": ["/usr/sbin/sshd", "-De", "-p", "2222"],
            "LAUNCHER-CONTAINER volumeMounts": [{"name": "a", "mountPath": "/etc/ssh/ssh_config.d"}],
        },
        {"WORKER-CONTAINER command": ["/usr/sbin/sshd", "-De", "-p", "2222"], **launched("/start")},
    ],
}
