"""Commands and options that other tools have, and what to type here: one table, whose answers are tested as a whole.

An answer is a sentence's end in the imperative. Of an option it is the parameters of which a command may have one in
its place, the first that it has, and a sentence for all other commands.
"""

from dataclasses import dataclass
from typing import Final

__all__ = ["COMMANDS", "DESTRUCTIVE", "OPTIONS", "Habit"]

#: Commands that delete or end something: no answer to a misspelled or unknown word suggests one.
DESTRUCTIVE: Final = frozenset({"cancel", "destroy", "stop", "test-resume"})

_LIST = "use 'trainctl list'"
_SUBMIT = "use 'trainctl submit'"
_CANCEL = "use 'trainctl cancel'"
_LOGS = "use 'trainctl logs -f'"
_RUN = "use 'trainctl submit' or 'trainctl run-local'"
_RANKS = "use 'trainctl run-local' for ranks here; the job on a cluster starts them itself"
_DEPLOY = "use 'cdk deploy TrainingDataStack TrainingClusterStack'"
_DESTROY = "use 'trainctl cluster destroy', which asks before it deletes"
_NODES = "use 'trainctl cluster status', or 'kubectl get nodes'"
_OFFERS = "use 'trainctl offers'"

_IMAGE = "use 'trainctl image {0}'"
_CLUSTER = "use 'trainctl cluster {0}'"

#: What to type in place of a command, by the group; the empty one is `trainctl` itself.
COMMANDS: Final[dict[str, dict[str, str]]] = {
    "": {
        # kubectl, and shells
        "get": _LIST,
        "ls": _LIST,
        "ps": _LIST,
        "apply": _SUBMIT,
        "create": _SUBMIT,
        "run": _RUN,
        "delete": _CANCEL,
        "rm": _CANCEL,
        "stop": _CANCEL,
        "kill": _CANCEL,
        "describe": "use 'trainctl status'",
        "log": "use 'trainctl logs'",
        "watch": "use 'trainctl logs -f' or 'trainctl wait'",
        "help": "use 'trainctl --help' or 'trainctl COMMAND --help'",
        "version": "use 'trainctl --version'",
        "top": "use 'kubectl top pods'",
        "exec": "use 'kubectl exec'",
        "port-forward": "use 'kubectl port-forward'",
        "config": "use 'kubectl config', or the option '--context'",
        # Slurm
        "sbatch": _SUBMIT,
        "srun": _RUN,
        "salloc": "use 'trainctl submit': the autoscaler starts the nodes of a job, and stops them after it",
        "squeue": _LIST,
        "sacct": "use 'trainctl list', which has finished jobs too",
        "sinfo": _NODES,
        "scancel": _CANCEL,
        "scontrol": "use 'trainctl status'",
        # launchers
        "mpirun": _RANKS,
        "mpiexec": _RANKS,
        "horovodrun": _RANKS,
        "torchrun": _RANKS,
        "accelerate": _RANKS,
        "deepspeed": _RANKS,
        "python": "use 'trainctl run-local train.py'",
        "train": _RUN,
        "start": _SUBMIT,
        "launch": _RUN,
        # cdk, sky and hyp
        "deploy": _DEPLOY,
        "synth": "use 'cdk synth'",
        "diff": "use 'cdk diff', or 'trainctl cluster plan'",
        "bootstrap": "use 'cdk bootstrap'",
        "preflight": _CLUSTER.format("preflight"),
        "destroy": _DESTROY,
        "up": _DEPLOY,
        "down": _DESTROY,
        "queue": _LIST,
        "gpunode": _OFFERS,
        "show-gpus": _OFFERS,
        "check": "use 'trainctl lint' for manifests, 'trainctl cluster preflight' for the account",
        "validate": "use 'trainctl lint'",
        "cost": "use 'trainctl plan' for a run, 'trainctl offers' for the types",
        "price": _OFFERS,
        "build": _IMAGE.format("build"),
        "push": _IMAGE.format("push"),
        "login": "use 'aws eks update-kubeconfig', the output KubeconfigCommand of the stack; 'trainctl image push' "
        "logs in by itself",
        "recipes": "use 'trainctl render --help', which lists them",
        "install": "use 'trainctl platform render', then 'kubectl apply -f dist/platform/'",
        "new": "use 'trainctl init'",
    },
    "cluster": {
        **dict.fromkeys(["deploy", "create", "up", "update", "apply", "start"], _DEPLOY),
        **dict.fromkeys(["rm", "delete", "down"], _DESTROY),
        **dict.fromkeys(["diff", "changes"], _CLUSTER.format("plan")),
        **dict.fromkeys(["get", "list", "describe", "show", "nodes"], _CLUSTER.format("status")),
        **dict.fromkeys(["check", "validate"], _CLUSTER.format("preflight")),
        "stop": "set 'min_size' to 0: the autoscaler stops idle nodes by itself",
    },
    "platform": dict.fromkeys(
        ["install", "apply", "deploy", "create"], "use 'trainctl platform render && kubectl apply -f dist/platform/'"
    ),
    "image": {
        "login": "use 'trainctl image push', which logs in by itself",
        "pull": "use 'docker pull' or 'podman pull'",
        **dict.fromkeys(["ls", "list"], "use 'docker images' or 'podman images'"),
        "publish": _IMAGE.format("push"),
    },
    "sagemaker": {
        **dict.fromkeys(["create", "run", "train", "start"], "use 'trainctl sagemaker submit'"),
        **dict.fromkeys(["describe", "get"], "use 'trainctl sagemaker status'"),
        **dict.fromkeys(["cancel", "delete", "rm", "kill"], "use 'trainctl sagemaker stop'"),
    },
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Habit:
    """The meaning of another tool's option.

    Attributes:
        parameters: Parameters of a command, the first that it has is the answer.
        otherwise: What to do in a command that has none of them; empty if there is nothing to say.
    """

    parameters: tuple[str, ...] = ()
    otherwise: str = ""


_FILES = Habit(parameters=("files", "file"))
_OUTPUT = Habit(parameters=("as_json", "output_format"))
_NODE_COUNT = Habit(parameters=("workers", "ranks"))
_RANK_COUNT = Habit(parameters=("ranks", "gpus_per_worker"))
_GPUS = Habit(parameters=("gpus_per_worker", "ranks"))
_TIME = Habit(parameters=("deadline_seconds", "timeout"))
_VARIABLES = Habit(otherwise="variables are in the recipe: HorovodJobSpec(environment={'NAME': 'value'})")
_SIZE = Habit(otherwise="it follows from the type and its GPUs: use '--instance-type' and '--gpus-per-worker'")
_MODULE = Habit(otherwise="give a recipe, or the file of the module, such as training/digits/__main__.py")
_KUBECONFIG = Habit(otherwise="set the variable KUBECONFIG")
_SINCE = Habit(parameters=("tail",))
_WAIT = Habit(otherwise="omit it: 'trainctl wait' waits for the end, and exits as the job does")
_ALL = Habit(parameters=("finished",), otherwise="give the names of the jobs, as 'trainctl list' shows them")

#: The meaning of another tool's option.
OPTIONS: Final[dict[str, Habit]] = {
    # kubectl
    "--replicas": Habit(parameters=("workers",)),
    **dict.fromkeys(["-f", "--filename"], _FILES),
    **dict.fromkeys(["-o", "--output"], _OUTPUT),
    "--json": Habit(parameters=("output_format",)),
    "--kubeconfig": _KUBECONFIG,
    **dict.fromkeys(["-c", "--container"], Habit(parameters=("worker",), otherwise="omit it")),
    **dict.fromkeys(["--since", "--since-time"], _SINCE),
    **dict.fromkeys(["-w", "--watch"], Habit(parameters=("follow",), otherwise="use 'trainctl logs -f'")),
    "--for": _WAIT,
    "--all": _ALL,
    **dict.fromkeys(["--env", "-e", "--export"], _VARIABLES),
    "--set": Habit(otherwise="use the option of the field, such as '--workers 3'"),
    **dict.fromkeys(["--memory", "--mem", "--cpu", "--cpus", "--limits", "--requests"], _SIZE),
    "--dry-run": Habit(otherwise="use 'trainctl render' and 'trainctl lint', which create nothing"),
    # Slurm
    **dict.fromkeys(["-N", "--nnodes", "--num-nodes", "--node-count", "--num_nodes"], _NODE_COUNT),
    **dict.fromkeys(["--time", "-t", "--walltime"], _TIME),
    **dict.fromkeys(["--gres", "--gpus-per-node", "--gpus", "--num-gpus"], _GPUS),
    **dict.fromkeys(["-p", "--partition"], Habit(parameters=("node_group",))),
    **dict.fromkeys(["--qos", "--priority"], Habit(parameters=("priority_class",))),
    "--job-name": Habit(parameters=("name",)),
    "--constraint": Habit(parameters=("instance_type",)),
    # torchrun and mpirun
    **dict.fromkeys(["-np", "-n", "--np", "--ntasks", "--num-proc"], _RANK_COUNT),
    **dict.fromkeys(["--nproc_per_node", "--nproc-per-node", "--ntasks-per-node"], _RANK_COUNT),
    **dict.fromkeys(["-m", "--module"], _MODULE),
    # sky and hyp
    "--use-spot": Habit(parameters=("capacity_type",)),
    "--accelerators": Habit(parameters=("instance_type",)),
    "--instance-count": _NODE_COUNT,
}
