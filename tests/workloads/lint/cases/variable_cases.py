"""What the rules of `lint.rules.variable_rules` and `lint.rules.debugging_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import (
    BIND,
    GONE,
    HOSTS,
    WITHOUT_EFA,
    both,
    instance_type,
    launched,
    ranks,
    script,
    variables,
)

TESTS = ("--hostfile", "/etc/mpi/hostfile", "/opt/nccl-tests/build/all_reduce_perf")

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "misspelled-variable": [
        (
            variables("LAUNCHER", NCCL_DEUBG="INFO"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_DEUBG, which nothing reads; write NCCL_DEBUG",
        ),
        (
            variables("LAUNCHER", NCCL_SOCKET_IF_NAME="eth0"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_SOCKET_IF_NAME, which nothing reads; write NCCL_SOCKET_IFNAME",
        ),
        (
            launched("mpirun", "-x", "HOROVOD_FUSION_TRESHOLD=67108864", *HOSTS, *BIND, "train"),
            "LAUNCHER-CONTAINER command",
            "sets HOROVOD_FUSION_TRESHOLD, which nothing reads; write HOROVOD_FUSION_THRESHOLD",
        ),
        (
            variables("WORKER", LD_LIBARY_PATH="/usr/local/cuda/lib64"),
            "WORKER-CONTAINER env 0",
            "sets LD_LIBARY_PATH, which nothing reads; write LD_LIBRARY_PATH",
        ),
        (
            script("export FI_PROVDER=efa\nmpirun --hostfile /etc/mpi/hostfile train"),
            "LAUNCHER-CONTAINER command",
            "sets FI_PROVDER, which nothing reads; write FI_PROVIDER",
        ),
    ],
    "variable-value": [
        (
            variables("LAUNCHER", NCCL_DEBUG="VERBOSE"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_DEBUG=VERBOSE, which is none of its values; give one of VERSION, WARN, INFO, ABORT, TRACE, NONE",
        ),
        (
            variables("LAUNCHER", NCCL_PROTO="Simpel"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_PROTO=Simpel, which is none of its values; give one of LL, LL128, SIMPLE",
        ),
        (
            variables("LAUNCHER", NCCL_ALGO="allreduce:tree;broadcast:rng"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_ALGO=allreduce:tree;broadcast:rng, which is none of its values; give one of TREE, RING, "
            "COLLNET, COLLNETDIRECT, COLLNETCHAIN, NVLS, NVLSTREE, PAT",
        ),
        (
            variables("LAUNCHER", NCCL_IB_DISABLE="true"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_IB_DISABLE=true, which NCCL reads as the number 0; give 1 or 0",
        ),
        (
            variables("LAUNCHER", TORCH_DISTRIBUTED_DEBUG="on"),
            "LAUNCHER-CONTAINER env 0",
            "sets TORCH_DISTRIBUTED_DEBUG=on, which is none of its values; give one of OFF, INFO, DETAIL",
        ),
    ],
    "literal-reference": [
        (
            variables("LAUNCHER", PATH="$PATH:/opt/amazon/efa/bin"),
            "LAUNCHER-CONTAINER env 0",
            "sets PATH=$PATH:/opt/amazon/efa/bin, in which no shell replaces $PATH; write the whole value, or "
            "export it in the shell that starts the program",
        ),
        (
            variables("WORKER", LD_LIBRARY_PATH="/opt/lib:${LD_LIBRARY_PATH}"),
            "WORKER-CONTAINER env 0",
            "sets LD_LIBRARY_PATH=/opt/lib:${LD_LIBRARY_PATH}, in which no shell replaces $LD_LIBRARY_PATH; "
            "write the whole value, or export it in the shell that starts the program",
        ),
        (
            {
                **variables("LAUNCHER", CUDA_HOME="/usr/local/cuda", CUDA_LIBRARIES="$CUDA_HOME/lib64"),
                **ranks(16, "-x", "CUDA_LIBRARIES"),
            },
            "LAUNCHER-CONTAINER env 1",
            "sets CUDA_LIBRARIES=$CUDA_HOME/lib64, in which no shell replaces $CUDA_HOME; write $(CUDA_HOME)",
        ),
        (
            {
                **variables("LAUNCHER", CUDA_LIBRARIES="$(CUDA_HOME)/lib64", CUDA_HOME="/usr/local/cuda"),
                **script('mpirun --hostfile /etc/mpi/hostfile -x LD_LIBRARY_PATH="$CUDA_LIBRARIES" train'),
            },
            "LAUNCHER-CONTAINER env 0",
            "sets CUDA_LIBRARIES=$(CUDA_HOME)/lib64, in which $(CUDA_HOME) is not replaced: no entry before it "
            "sets CUDA_HOME; write CUDA_HOME before CUDA_LIBRARIES",
        ),
        (
            variables("WORKER", PATH="/opt/bin:$(PATH)"),
            "WORKER-CONTAINER env 0",
            "sets PATH=/opt/bin:$(PATH), in which $(PATH) is not replaced: no entry before it sets PATH; write "
            "the whole value, or export it in the shell that starts the program",
        ),
    ],
    "rendezvous-address": [
        (
            variables("WORKER", MASTER_ADDR="localhost"),
            "WORKER-CONTAINER env 0",
            "sets MASTER_ADDR=localhost, at which each pod finds only itself; give the name of the pod with rank "
            "0, or remove it where the operator sets it",
        ),
        (
            launched("mpirun", "-x", "MASTER_ADDR=127.0.0.1", *HOSTS, *BIND, "train"),
            "LAUNCHER-CONTAINER command",
            "sets MASTER_ADDR=127.0.0.1, at which each pod finds only itself; give the name of the pod with rank "
            "0, or remove it where the operator sets it",
        ),
    ],
    "fusion-threshold": [
        (
            variables("LAUNCHER", HOROVOD_FUSION_THRESHOLD="64"),
            "LAUNCHER-CONTAINER env 0",
            "sets HOROVOD_FUSION_THRESHOLD=64, which is in bytes: hardly any two tensors are sent together; "
            "write HOROVOD_FUSION_THRESHOLD=67108864 for 64 MiB",
        ),
    ],
    "plain-secret": [
        (
            variables("WORKER", WANDB_API_KEY="0a1b" * 10),
            "WORKER-CONTAINER env 0",
            "has the value of WANDB_API_KEY, which everyone who may read the job can read; put it into a Secret, "
            "and refer to it with valueFrom.secretKeyRef",
        ),
        (
            variables("LAUNCHER", AWS_ACCESS_KEY_ID="AKIA" + "0A" * 8),
            "LAUNCHER-CONTAINER env 0",
            "has the value of AWS_ACCESS_KEY_ID, which everyone who may read the job can read; put it into a "
            "Secret, and refer to it with valueFrom.secretKeyRef",
        ),
        (
            variables("LAUNCHER", DB_PASSWORD="c0rrect-h0rse-battery-staple"),
            "LAUNCHER-CONTAINER env 0",
            "has the value of DB_PASSWORD, which everyone who may read the job can read; put it into a Secret, "
            "and refer to it with valueFrom.secretKeyRef",
        ),
        (
            script("export HF_TOKEN=" + "hf_" + "a1" * 17 + "\nmpirun --hostfile /etc/mpi/hostfile train"),
            "LAUNCHER-CONTAINER command",
            "has the value of HF_TOKEN, which everyone who may read the job can read; put it into a Secret, and "
            "refer to it with valueFrom.secretKeyRef",
        ),
    ],
    "debugging-variable": [
        (
            variables("WORKER", CUDA_LAUNCH_BLOCKING="1"),
            "WORKER-CONTAINER env 0",
            "sets CUDA_LAUNCH_BLOCKING=1, with which the program waits for each kernel; remove it",
        ),
        (
            launched("mpirun", "-x", "NCCL_P2P_DISABLE=1", *HOSTS, *BIND, "train"),
            "LAUNCHER-CONTAINER command",
            "sets NCCL_P2P_DISABLE=1, with which the GPUs of a pod exchange data through its memory, "
            "not over NVLink; remove it",
        ),
        (
            variables("LAUNCHER", NCCL_P2P_LEVEL="LOC"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_P2P_LEVEL=LOC, with which the GPUs of a pod exchange data through its memory, "
            "not over NVLink; remove it",
        ),
        (
            variables("LAUNCHER", FI_EFA_USE_DEVICE_RDMA="0"),
            "LAUNCHER-CONTAINER env 0",
            "sets FI_EFA_USE_DEVICE_RDMA=0, with which data between GPUs is copied through memory; remove it",
        ),
        (
            variables("LAUNCHER", TORCH_DISTRIBUTED_DEBUG="DETAIL"),
            "LAUNCHER-CONTAINER env 0",
            "sets TORCH_DISTRIBUTED_DEBUG=DETAIL, with which PyTorch compares every collective between "
            "all ranks; remove it",
        ),
        (
            variables("LAUNCHER", HOROVOD_CYCLE_TIME="1000"),
            "LAUNCHER-CONTAINER env 0",
            "sets HOROVOD_CYCLE_TIME=1000, with which gradients wait that many milliseconds; remove it",
        ),
    ],
    "more-threads-than-cpus": [
        (
            variables("WORKER", OMP_NUM_THREADS="96"),
            "WORKER-CONTAINER env 0",
            "sets OMP_NUM_THREADS=96 for each of 8 ranks, which have 90 CPUs together; write OMP_NUM_THREADS=11 "
            "or less",
        ),
        (
            {**both("cpu", GONE), **variables("WORKER", MKL_NUM_THREADS="16")},
            "WORKER-CONTAINER env 0",
            "sets MKL_NUM_THREADS=16 for each of 8 ranks, which have 96 CPUs together; write MKL_NUM_THREADS=12 "
            "or less",
        ),
    ],
    "same-rank": [
        (
            variables("WORKER", RANK="0"),
            "WORKER-CONTAINER env 0",
            "sets RANK=0 for all of them, and they take themselves for the same rank; remove it: mpirun, "
            "torchrun or the operator numbers the ranks",
        ),
        (
            launched("mpirun", "-x", "LOCAL_RANK=0", *HOSTS, *BIND, "train"),
            "LAUNCHER-CONTAINER command",
            "sets LOCAL_RANK=0 for all of them, and they take themselves for the same rank; remove it: mpirun, "
            "torchrun or the operator numbers the ranks",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "misspelled-variable": [
        variables("LAUNCHER", NCCL_DEBUG="INFO", NCCL_IB_GDR_LEVEL="1", NCCL_TESTS_VERSION="2.13", HOROVOD_EXTRA="x"),
        variables("LAUNCHER", NCCL_IBEXT_DISABLE="1"),
        variables("LAUNCHER", OMP_NUM_THREADS="8", MY_LIBRARY_PATH="/opt", PATHS="/opt"),
        launched("mpirun", *HOSTS, *BIND, "train", "model.NCCL_DEUBG=1", "--NCCL_DEUBG=1"),
    ],
    "variable-value": [
        variables("LAUNCHER", NCCL_DEBUG="info", NCCL_PROTO="^LL128", NCCL_ALGO="allreduce:tree,ring;broadcast:ring"),
        variables("LAUNCHER", NCCL_P2P_LEVEL="4", NCCL_IB_DISABLE="1", NCCL_CUMEM_ENABLE="0", NCCL_DEBUG_SUBSYS="ALL"),
        variables("LAUNCHER", NCCL_DEBUG="${LEVEL}", TORCH_DISTRIBUTED_DEBUG=""),
    ],
    "literal-reference": [
        # No program that is known reads them.
        variables("LAUNCHER", CUDA_HOME="/usr/local/cuda", CUDA_LIBRARIES="$CUDA_HOME/lib64"),
        variables("WORKER", CUDA_LIBRARIES="$(CUDA_HOME)/lib64", CUDA_HOME="/usr/local/cuda"),
        # Kubernetes does not calculate.
        {**variables("LAUNCHER", NODES="2", SIZE="$(($NODES * 8))"), **ranks(16, "-x", "SIZE")},
        # Its parts are known in the ranks only.
        {
            **variables("LAUNCHER", NODES="2", WORDS="--nnodes $NODES --node_rank $NODE_RANK"),
            **ranks(16, "-x", "WORDS"),
        },
        {**variables("LAUNCHER", A="1", B="$A"), **script("eval mpirun --hostfile /etc/mpi/hostfile train $B")},
        # envsubst replaces it, as in the image.
        {**variables("WORKER", PATH="${PATH}"), "WORKER-CONTAINER image": "${IMAGE}"},
        variables("WORKER", CUDA_HOME="/usr/local/cuda", CUDA_LIBRARIES="$(CUDA_HOME)/lib64"),
        # Placeholders, and variables that the operator or envFrom may give.
        variables("WORKER", DATA="${BUCKET}/train", RANK="$(REPLICA_INDEX)", PRICE="5$"),
        variables("WORKER", PATH="/opt/bin:$$(PATH)"),
    ],
    "rendezvous-address": [
        variables("WORKER", MASTER_ADDR="job-worker-0"),
        {**variables("WORKER", MASTER_ADDR="localhost"), "WORKER replicas": 1},
    ],
    "fusion-threshold": [
        variables("LAUNCHER", HOROVOD_FUSION_THRESHOLD="0"),
        variables("LAUNCHER", HOROVOD_FUSION_THRESHOLD="16777216"),
    ],
    "plain-secret": [
        variables("WORKER", WANDB_API_KEY="<your key>", HF_TOKEN="${HF_TOKEN}", DB_PASSWORD="changeme"),
        variables("WORKER", API_KEY="xxxxxxxxxxxx", SECRET_KEY="/run/secrets/key", DB_PASSWORD="your-password"),
        # Words that a person has chosen for a test.
        variables("WORKER", MINIO_SECRET_KEY="minioadmin123", DB_PASSWORD="correct-horse-battery"),
        variables("WORKER", TOKENIZERS_PARALLELISM="false", MAX_TOKEN="4096", NCCL_DEBUG="INFO"),
        {"WORKER-CONTAINER env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "t"}}}]},
    ],
    "debugging-variable": [
        {**variables("WORKER", CUDA_LAUNCH_BLOCKING="1"), "metadata name": "smoke-test"},
        variables("WORKER", CUDA_LAUNCH_BLOCKING="0", NCCL_DEBUG="INFO", NCCL_IB_DISABLE="1", NCCL_P2P_DISABLE="0"),
        launched("mpirun", "-x", "NCCL_P2P_DISABLE=1", *TESTS),
        {**both("nvidia.com/gpu", 1), **variables("LAUNCHER", NCCL_P2P_DISABLE="1")},
        {**instance_type("g5.48xlarge"), **variables("LAUNCHER", NCCL_P2P_DISABLE="1")},
        # What links the GPUs does not show.
        {"WORKER-POD nodeSelector": GONE, **variables("LAUNCHER", NCCL_P2P_DISABLE="1")},
        {**WITHOUT_EFA, **variables("LAUNCHER", FI_EFA_USE_DEVICE_RDMA="0")},
        # Choices of who has measured them, such as for GPUDirect-TCPX.
        variables("LAUNCHER", NCCL_ALGO="Ring", NCCL_PROTO="Simple", NCCL_MAX_NCHANNELS="2"),
        variables("LAUNCHER", NCCL_ALGO="Ring,Tree", NCCL_BUFFSIZE="8388608", HOROVOD_CYCLE_TIME="0.5"),
    ],
    "more-threads-than-cpus": [
        variables("WORKER", OMP_NUM_THREADS="11"),
        # One process for all GPUs.
        {**variables("WORKER", OMP_NUM_THREADS="96"), **launched("mpirun", "-np", "2", "-N", "1", *HOSTS, "train")},
        {**variables("WORKER", OMP_NUM_THREADS="90"), **both("nvidia.com/gpu", 1)},
        {**both("cpu", GONE), **variables("WORKER", OMP_NUM_THREADS="48"), "WORKER-POD nodeSelector": GONE},
    ],
    "same-rank": [
        {**variables("WORKER", RANK="0"), "WORKER replicas": 1},
        variables("WORKER", RANK="$(JOB_INDEX)", WORLD_SIZE="16"),
        script("LOCAL_RANK=0 python prepare.py\nmpirun --hostfile /etc/mpi/hostfile train"),
    ],
}
