"""What the rules of `lint.rules.command_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import BIND, GONE, HOSTS, launched, ranks, script, variables

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "command-in-one-word": [
        (
            {"WORKER-CONTAINER command": ["/usr/sbin/sshd -De"]},
            "WORKER-CONTAINER command 0",
            "begins with '/usr/sbin/sshd -De' as one word, and no program has that name; write each word "
            "separately: [/usr/sbin/sshd, -De, ...], or start it with [sh, -c, ...]",
        ),
        (
            {"LAUNCHER-CONTAINER command": ["mpirun -np 16 python train.py"]},
            "LAUNCHER-CONTAINER command 0",
            "begins with 'mpirun -np 16 python train.py' as one word, and no program has that name; write "
            "each word separately: [mpirun, -np, ...], or start it with [sh, -c, ...]",
        ),
        (
            {"LAUNCHER-POD initContainers": [{"name": "a", "image": "i", "command": ["nvidia-smi -L"]}]},
            "LAUNCHER-POD initContainers 0 command 0",
            "begins with 'nvidia-smi -L' as one word, and no program has that name; write each word "
            "separately: [nvidia-smi, -L, ...], or start it with [sh, -c, ...]",
        ),
    ],
    "shell-syntax-without-shell": [
        (
            launched("cd", "/work", "&&", "mpirun", "-np", "16", "train"),
            "LAUNCHER-CONTAINER command",
            "has 'cd', which is for a shell, and no shell runs it; write [bash, -c, <the whole line as one text>]",
        ),
        (
            launched("mpirun", "-np", "16", *HOSTS, *BIND, "train", ">", "/fsx/log"),
            "LAUNCHER-CONTAINER command",
            "has '>', which is for a shell, and no shell runs it; write [bash, -c, <the whole line as one text>]",
        ),
        (
            launched("mpirun", "-np", "16", *HOSTS, *BIND, "-x", "LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/opt", "train"),
            "LAUNCHER-CONTAINER command",
            "has $LD_LIBRARY_PATH, which no shell expands; write [bash, -c, <the line as one text>]",
        ),
        (
            {**launched("mpirun", "-np", "${RANKS}", "train"), **variables("LAUNCHER", RANKS="16")},
            "LAUNCHER-CONTAINER command",
            "has ${RANKS}, which no shell expands; write $(RANKS), which Kubernetes expands",
        ),
    ],
    "undefined-reference": [
        (
            {"WORKER-CONTAINER volumeMounts 0 subPathExpr": "$(POD_NAME)"},
            "WORKER-CONTAINER volumeMounts 0 subPathExpr",
            "has $(POD_NAME), but env has no POD_NAME, and the container does not start; add POD_NAME to env",
        ),
        (
            launched("mpirun", "-np", "$(RANKS)", "train"),
            "LAUNCHER-CONTAINER command",
            "has $(RANKS), but env has no RANKS, and the text stays as it is; add RANKS to env",
        ),
        (
            {**launched("mpirun", "-np", "$(WORLD_RANK)", "train"), **variables("LAUNCHER", WORLD_RANKS="16")},
            "LAUNCHER-CONTAINER command",
            "has $(WORLD_RANK), but env has no WORLD_RANK, and the text stays as it is; write $(WORLD_RANKS)",
        ),
    ],
    "words-behind-script": [
        (
            launched("bash", "-c", "mpirun", "-np", "16", "train"),
            "LAUNCHER-CONTAINER command",
            "runs only 'mpirun': '-np 16 train' are its parameters; write the script as one text behind -c",
        ),
        (
            launched("sh", "-c", "mpirun -np 16 train", "--epochs", "3"),
            "LAUNCHER-CONTAINER command",
            "runs only 'mpirun -np 16 train': '--epochs 3' are its parameters; write the script as one text behind -c",
        ),
    ],
    "broken-continuation": [
        (
            script("cd /a\nmpirun -np 16 \\ \n  --bind-to none train"),
            "LAUNCHER-CONTAINER command",
            "line 2 of the script has a blank behind its backslash, and the command ends there; remove the "
            "blanks at the line's end",
        ),
        (
            script("mpirun -np 16 \\ --bind-to none train"),
            "LAUNCHER-CONTAINER command",
            "the script has a backslash before a blank: the next word begins with that blank; remove the "
            "backslashes, or write | in place of >",
        ),
        (
            script("mpirun -np 16\n  --hostfile /etc/mpi/hostfile train"),
            "LAUNCHER-CONTAINER command",
            "a line of the script begins with --hostfile: the command ended on the line before it; end the "
            "line before it with a backslash",
        ),
    ],
    "unbalanced-quote": [
        (
            script("mpirun -np 16 bash -c 'train"),
            "LAUNCHER-CONTAINER command",
            "the script has a quote that is never closed; close the quote",
        ),
    ],
    "last-command-in-background": [
        (
            script("mpirun -np 16 train &"),
            "LAUNCHER-CONTAINER command",
            "the script's last command runs in the background (&), and the container ends at once; remove "
            "the &, or add wait",
        ),
        (
            {"WORKER-CONTAINER command": ["bash", "-c", "/usr/sbin/sshd -D & "]},
            "WORKER-CONTAINER command",
            "the script's last command runs in the background (&), and the container ends at once; remove "
            "the &, or add wait",
        ),
    ],
    "option-and-value-in-one-word": [
        (
            ranks(16, "--mca pml ob1"),
            "LAUNCHER-CONTAINER command",
            "has '--mca pml ob1' as one word; write two items of the list: --mca, pml, ob1",
        ),
        (
            launched("mpirun", "-np 16", *HOSTS, *BIND, "train"),
            "LAUNCHER-CONTAINER command",
            "has '-np 16' as one word; write two items of the list: -np, 16",
        ),
        (
            launched("mpirun", "-np", "16", *HOSTS, *BIND, "python", "train.py", "--epochs 90"),
            "LAUNCHER-CONTAINER command",
            "has '--epochs 90' as one word; write two items of the list: --epochs, 90",
        ),
        (
            launched("python", "train.py", "--data /fsx"),
            "LAUNCHER-CONTAINER command",
            "has '--data /fsx' as one word; write two items of the list: --data, /fsx",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "command-in-one-word": [
        {"LAUNCHER-CONTAINER command": ["/opt/my tools/run"]},
        {"LAUNCHER-CONTAINER command": ["${COMMAND} -x"]},
        launched("bash", "-c", "mpirun -np 16 train"),
        {"LAUNCHER-CONTAINER command": GONE, "LAUNCHER-CONTAINER args": ["mpirun -np 16 train"]},
    ],
    "shell-syntax-without-shell": [
        script("cd /work && mpirun -np 16 train > log; echo $HOME"),
        launched("mpirun", "-np", "16", *HOSTS, *BIND, "bash", "-c", "cd $HOME && train"),
        launched("mpirun", "-np", "${GPUS}", "train"),
        launched("/start.sh", "a", "&&", "b"),
        # Code of other languages, and references of Hydra.
        {"LAUNCHER-CONTAINER command": ["python", "-c", "import os\nprint(1 if os.environ['HOME'] else 2)  # $HOME"]},
        {"LAUNCHER-CONTAINER command": ["perl", "-e", "print $ENV{HOME}, $HOME, $PATH"]},
        launched("mpirun", "-np", "16", *HOSTS, *BIND, "python", "train.py", "--cfg", "hydra.run.dir=${HOME}/x"),
        launched("mpirun", "-np", "16", *HOSTS, *BIND, "python", "train.py", "+data.path=${PWD}/data"),
        {"LAUNCHER-CONTAINER command": GONE, "LAUNCHER-CONTAINER args": ["a", "&&", "b"]},
    ],
    "undefined-reference": [
        {**launched("mpirun", "-np", "$(RANKS)", "train"), **variables("LAUNCHER", RANKS="16")},
        {
            **launched("mpirun", "-np", "$(RANKS)", "train"),
            "LAUNCHER-CONTAINER envFrom": [{"configMapRef": {"name": "a"}}],
        },
        launched("mpirun", "-np", "$$(RANKS)", "train"),
        launched("torchrun", "--node-rank=$(RANK)", "train"),
        # Of a Service.
        launched("mpirun", "-np", "16", "train", "--log", "$(TENSORBOARD_SERVICE_HOST)"),
        script("mpirun -np $(NPROC) train"),
    ],
    "words-behind-script": [
        launched("bash", "-c", 'exec "$@"', "--", "mpirun", "-np", "16"),
        launched("bash", "-c", "mpirun -np 16 train", "bash"),
        script("mpirun"),
    ],
    "broken-continuation": [
        script("mpirun -np 16 \\\n  --bind-to none train"),
        script("cat > h <<EOF\n-x A\nEOF\nmpirun -np 16 train"),
        script("ls My\\ File"),
        script('ssh-keygen -t ed25519 -N "" -f key'),
        # Words of an array.
        script('ARGS=(\n  --epochs 3\n  --lr "$(cat lr)"\n)\nARGS+=(\n  --wd 0\n)\nmpirun -np 16 train "${ARGS[@]}"'),
    ],
    "unbalanced-quote": [
        script('echo "$(awk \'{print "a"}\' f)"; mpirun -np 16 train'),
        script("cat <<EOF\nit's\nEOF"),
        script('echo "$(a "it\'s" "$(b "c")")"; mpirun -np 16 train'),
        script('echo "$(a "it\'s" $(b))"; mpirun -np 16 train'),
        script("# it's right\nmpirun train"),
    ],
    "last-command-in-background": [
        script("nvidia-smi dmon & mpirun -np 16 train"),
        script("mpirun -np 16 train &\nwait"),
        script("mpirun -np 16 train 2>&1"),
    ],
    "option-and-value-in-one-word": [
        launched("mpirun", "-np", "16", *HOSTS, "--mca", "plm_rsh_args", "-p 2222", "train"),
        launched("horovodrun", "-np", "16", "--mpi-args", "-x A", "train"),
        {"WORKER-CONTAINER command": ["/usr/sbin/sshd", "-De", "-o Port=22"]},
        launched("mpirun", "-np", "16", "python", "-c", "--a b"),
    ],
}
