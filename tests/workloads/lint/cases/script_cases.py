"""What the rules on shells in `lint.rules.command_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import launched, script

LOOP = "for host in a b; do\n  until ssh $host true; do\n    if [ -f x ]; then exit 1; fi\n  done\n{}mpirun train"

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "script-without-option": [
        (
            launched("bash", "mpirun -np 16 train"),
            "LAUNCHER-CONTAINER command",
            "has 'mpirun -np 16 train' behind bash without -c, which takes it as the file of a script; write [bash, "
            "-c, <the line as one text>]",
        ),
        (
            {"WORKER-CONTAINER command": ["/bin/sh", "/usr/sbin/sshd", "-De"]},
            "WORKER-CONTAINER command",
            "has '/usr/sbin/sshd' behind /bin/sh without -c, which takes it as the file of a script; write [/bin/sh, "
            "-c, <the line as one text>]",
        ),
    ],
    "unclosed-block": [
        (
            script(LOOP.format("")),
            "LAUNCHER-CONTAINER command",
            "the script has 2 'do' and 1 'done'; add the 'done' that is missing",
        ),
        (
            script("if true; then mpirun train; fi; fi"),
            "LAUNCHER-CONTAINER command",
            "the script has 1 'if' and 2 'fi'; add the 'if' that is missing",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "script-without-option": [
        launched("bash", "/scripts/start.sh", "--fast"),
        launched("bash", "start.sh train.py"),
        launched("bash", "-euxc", "mpirun -np 16 train"),
        launched("bash", "$SCRIPT now"),
    ],
    "unclosed-block": [
        script(LOOP.format("done\n")),
        script("while ! (for host in a; do ssh $host || exit 1; done); do sleep 1; done; mpirun train"),
        script("echo if only, do it\nmpirun train"),
    ],
}
