"""What the rules of `lint.rules.launch_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import BIND, ELASTIC, GONE, HOSTS, both, launched, ranks, script

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "np-exceeds-slots": [
        (
            ranks(17),
            "LAUNCHER-CONTAINER command",
            "is for 17 ranks, but 2 x 8 are 16 slots, and mpirun does not start; write -np 16, or set "
            "slotsPerWorker to the ranks of a worker",
        ),
        (
            # Behind a program that starts it.
            launched("python", "-m", "judge", "--", "mpirun", "-np", "17", *HOSTS, *BIND, "train"),
            "LAUNCHER-CONTAINER command",
            "is for 17 ranks, but 2 x 8 are 16 slots, and mpirun does not start; write -np 16, or set "
            "slotsPerWorker to the ranks of a worker",
        ),
        (
            # One rank for each GPU: the slots are wrong.
            {"spec slotsPerWorker": GONE},
            "spec slotsPerWorker",
            "is missing, and its default is 1: 16 ranks on 2 x 1 slots, and mpirun does not start; write "
            "slotsPerWorker: 8, one rank for each GPU",
        ),
        (
            script("mpirun -n 32 --hostfile /etc/mpi/hostfile train"),
            "LAUNCHER-CONTAINER command",
            "is for 32 ranks, but 2 x 8 are 16 slots, and mpirun does not start; write -np 16, or set "
            "slotsPerWorker to the ranks of a worker",
        ),
    ],
    "np-leaves-slots-idle": [
        (
            ranks(8, "-N", "4"),
            "LAUNCHER-CONTAINER command",
            "starts 8 ranks, but 2 x 8 are 16 slots; 8 stay idle; write -np 16, or fewer workers or slots",
        ),
        (
            ranks(8),
            "LAUNCHER-CONTAINER command",
            "starts 8 ranks, but 2 x 8 are 16 slots; 8 stay idle; write -np 16, or fewer workers or slots",
        ),
        (
            {"spec runLauncherAsWorker": True, "LAUNCHER-CONTAINER resources": {"limits": {"nvidia.com/gpu": 8}}},
            "LAUNCHER-CONTAINER command",
            "starts 16 ranks, but 3 x 8 are 24 slots; 8 stay idle; write -np 24, or fewer workers or slots",
        ),
    ],
    "elastic-range": [
        (
            launched("horovodrun", "-np", "4", "--min-np", "8", "--max-np", "32", "train"),
            "LAUNCHER-CONTAINER command",
            "has min-np 8, np 4, max-np 32, which do not rise; give min-np <= np <= max-np",
        ),
        (
            launched("horovodrun", "-np", "40", "--max-np", "32", "train"),
            "LAUNCHER-CONTAINER command",
            "has np 40, max-np 32, which do not rise; give min-np <= np <= max-np",
        ),
        (
            launched("horovodrun", "--min-np", "8", "--max-np", "4", "train"),
            "LAUNCHER-CONTAINER command",
            "has min-np 8, max-np 4, which do not rise; give min-np <= np <= max-np",
        ),
    ],
    "elastic-without-slots": [
        (
            launched("horovodrun", "-np", "16", "--host-discovery-script=/etc/mpi/discover_hosts.sh", "train"),
            "LAUNCHER-CONTAINER command",
            "takes its hosts from /etc/mpi/discover_hosts.sh, which prints no slots, and has no --slots-per-host; add "
            "--slots-per-host 8",
        ),
        (
            {
                "spec slotsPerWorker": 1,
                **launched("horovodrun", "-np", "16", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "train"),
            },
            "LAUNCHER-CONTAINER command",
            "takes its hosts from /etc/mpi/discover_hosts.sh, which prints no slots, and has no --slots-per-host; add "
            "--slots-per-host 8",
        ),
    ],
    "single-process": [
        (
            launched("python", "train.py"),
            "LAUNCHER-CONTAINER command",
            "starts python in the launcher, and nothing on the workers; start the program with mpirun or horovodrun",
        ),
        (
            script("sleep 10; torchrun train.py"),
            "LAUNCHER-CONTAINER command",
            "starts sleep and torchrun in the launcher, and nothing on the workers; start the program with "
            "mpirun or horovodrun",
        ),
    ],
    "np-exceeds-ranks-per-node": [
        (
            ranks(16, "-N", "4"),
            "LAUNCHER-CONTAINER command",
            "is for 16 ranks, but 4 on each of 2 workers are 8; map 8 ranks to each node",
        ),
        (
            ranks(16, "--map-by", "ppr:16:node"),
            "LAUNCHER-CONTAINER command",
            "maps 16 ranks to each node, but a worker has 8 slots; map 8 ranks to each node",
        ),
        (
            launched("mpirun", *HOSTS, *BIND, "--map-by", "ppr:16:node", "train"),
            "LAUNCHER-CONTAINER command",
            "maps 16 ranks to each node, but a worker has 8 slots; map 8 ranks to each node",
        ),
    ],
    "np-is-no-number": [
        (ranks("sixteen"), "LAUNCHER-CONTAINER command", "has 'sixteen' as the number of ranks; write -np 16"),
        (ranks(0), "LAUNCHER-CONTAINER command", "has '0' as the number of ranks; write -np 16"),
    ],
    "misspelled-launcher": [
        (
            launched("mpirn", "-np", "16", "train"),
            "LAUNCHER-CONTAINER command",
            "starts 'mpirn', which is no program; write mpirun",
        ),
        (
            script("horovod-run -np 16 train"),
            "LAUNCHER-CONTAINER command",
            "starts 'horovod-run', which is no program; write horovodrun",
        ),
    ],
    "ranks-start-ranks": [
        (
            launched("mpirun", "-np", "16", *HOSTS, *BIND, "torchrun", "--nproc-per-node", "8", "train.py"),
            "LAUNCHER-CONTAINER command",
            "starts 16 ranks on 2 workers, each of which starts 8 processes; write -np 2 -N 1, or start "
            "the program without torchrun",
        ),
        (
            launched(
                "mpirun",
                "-np",
                "16",
                *HOSTS,
                *BIND,
                "python",
                "-m",
                "torch.distributed.run",
                "--nproc_per_node=8",
                "a.py",
            ),
            "LAUNCHER-CONTAINER command",
            "starts 16 ranks on 2 workers, each of which starts 8 processes; write -np 2 -N 1, or start "
            "the program without torchrun",
        ),
    ],
    "exit-code-lost": [
        (
            script("mpirun -np 16 train; sleep 5"),
            "LAUNCHER-CONTAINER command",
            "ends with sleep, whose exit code is the job's: one that fails counts as succeeded; begin the script with "
            "set -e",
        ),
        (
            script("mpirun -np 16 train\n\necho done"),
            "LAUNCHER-CONTAINER command",
            "ends with echo, whose exit code is the job's: one that fails counts as succeeded; begin the script with "
            "set -e",
        ),
        (
            script("mpirun -np 16 train\naws s3 cp /out s3://bucket/out --recursive"),
            "LAUNCHER-CONTAINER command",
            "ends with aws, whose exit code is the job's: one that fails counts as succeeded; begin the script with "
            "set -e",
        ),
        (
            script("mpirun -np 16 train | tee /fsx/log"),
            "LAUNCHER-CONTAINER command",
            "has tee behind the launch, whose exit code is lost; begin with bash and set -o pipefail",
        ),
        (
            script("mpirun -np 16 train || true"),
            "LAUNCHER-CONTAINER command",
            "has || true behind the launch, and a job that fails counts as succeeded; remove it",
        ),
    ],
    "launch-without-program": [
        (
            script("mpirun -np 16 --hostfile /etc/mpi/hostfile \\\n  -x FI_PROVIDER\n  python train.py"),
            "LAUNCHER-CONTAINER command",
            "ends with 'FI_PROVIDER': mpirun has no program to start; write the program behind the options, or "
            "continue the line with a \\",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "np-exceeds-slots": [
        ranks(16),
        {"spec runLauncherAsWorker": True, **ranks(24)},
        launched("mpirun", "-np", "32", "--host", "a:16,b:16", *BIND, "train"),
        launched("mpirun", "-np", "32", "--hostfile", "/data/hosts", *BIND, "train"),
        ranks(32, "--oversubscribe"),
        ranks(32, "--map-by", ":OVERSUBSCRIBE"),
        {**ranks(32), "LAUNCHER-CONTAINER env": [{"name": "OMPI_MCA_rmaps_base_oversubscribe", "value": "1"}]},
        launched(*ELASTIC[:2], "32", *ELASTIC[3:]),
        {**ranks(17), "spec mpiImplementation": "Intel"},
        ranks("$NP"),
        ranks("$((2*8))"),
        {**ranks(17), "WORKER replicas": "$N"},
        launched("mpirun", "-np", "16", "a", ":", "-np", "4", "b"),
    ],
    "np-leaves-slots-idle": [
        launched("mpirun", "-np", "2", *HOSTS, *BIND, "--map-by", "node", "python", "train.py"),
        launched("mpirun", "-np", "2", *HOSTS, *BIND, "nvidia-smi"),
        # One rank for each GPU, on nodes with more slots.
        {**ranks(16), "spec slotsPerWorker": 96},
        launched("mpirun", "-np", "4", "-N", "2", *HOSTS, *BIND, "all_reduce_perf", "-g", "4"),
        # Ranks on CPUs may have threads.
        {**ranks(2), **both("nvidia.com/gpu", GONE)},
        ranks(16),
        script("mpirun -np 2 --hostfile h hostname && mpirun -np 16 --hostfile h train"),
        ranks(2, "-N", "1"),
        ranks(2, "-npernode", "1"),
    ],
    "elastic-range": [
        launched(*ELASTIC),
        launched("horovodrun", "-np", "16", "train"),
    ],
    "elastic-without-slots": [
        launched(*ELASTIC),
        launched("horovodrun", "-np", "16", "--host-discovery-script", "/my/hosts.sh", "train"),
        launched(
            "horovodrun", "--config-file", "/h.yaml", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "train"
        ),
        launched("horovodrun", "-np", "16", "--host-discovery-script=/etc/mpi/discover_hosts.sh", "--slots=8", "train"),
    ],
    "single-process": [
        launched("python", "launch_training.py"),
        launched("python", "-m", "horovod_driver"),
        # DeepSpeed's launcher of GPT-NeoX.
        launched("python", "deepy.py", "train.py", "configs/model.yml"),
        # A user starts mpirun in it.
        launched("sleep", "infinity"),
        launched("/start"),
        script("./start.sh"),
        {"LAUNCHER-CONTAINER command": GONE},
        script("source env; run"),
    ],
    "np-exceeds-ranks-per-node": [
        ranks(16, "-N", "8"),
        ranks(2, "--map-by", "ppr:1:node"),
        ranks(16, "--map-by", "ppr:4:socket"),
        {**ranks(16, "-N", "4"), "WORKER replicas": "$N"},
    ],
    "np-is-no-number": [
        ranks(16),
        ranks("$N"),
        ranks("{{ n }}"),
    ],
    "misspelled-launcher": [
        launched("mpirun.openmpi", "-np", "16", "train"),
        launched("/start"),
        script("prun -n 16 train"),
    ],
    "ranks-start-ranks": [
        launched("mpirun", "-np", "2", *HOSTS, *BIND, "torchrun", "--nproc-per-node=8", "train.py"),
        launched("mpirun", "-np", "16", *HOSTS, *BIND, "torchrun", "--nproc-per-node=1", "train.py"),
    ],
    "exit-code-lost": [
        # A pod that stays for a look at it.
        script("mpirun -np 16 train\nsleep infinity"),
        script("mpirun -np 16 train; tail -f /dev/null"),
        script("mpirun -np 16 train | grep -q passed"),
        script("mpirun -np 16 train | tee /fsx/log\ngrep -q passed /fsx/log || exit 1"),
        script("mpirun -np 16 train || echo failed > /fsx/state\n[ ! -e /fsx/state ] || exit 1"),
        launched("bash", "-ec", "mpirun -np 16 train\necho done"),
        launched("bash", "-e", "-c", "mpirun -np 16 train\necho done"),
        script("set -euo pipefail\nmpirun -np 16 train\necho done"),
        script("mpirun -np 16 train && echo done"),
        script("if mpirun -np 16 train; then echo done; else exit 1; fi"),
        script("for i in 1 2 3; do mpirun -np 16 train && exit 0; sleep 10; done; exit 1"),
        script("while ! mpirun -np 16 train; do sleep 10; done; echo done"),
        script("mpirun -np 16 train\ncode=$?\naws s3 cp /out s3://bucket/out\nexit $code"),
        script("mpirun -np 16 train &\nwait $!\necho done"),
        script("run() {\n  mpirun -np 16 train\n}\nrun || exit 1\necho done"),
        script("set -o pipefail; mpirun -np 16 train 2>&1 | tee /fsx/log"),
        script("mpirun -np 16 train"),
        script("mpirun -np 16 hostname | sort; mpirun -np 16 train"),
        script("mpirun -np 16 train || exit 3"),
    ],
    "launch-without-program": [
        script("mpirun --version"),
        script("mpirun -np 16 $OPTIONS"),
        script("mpirun -np 16 --app /etc/app"),
    ],
}
