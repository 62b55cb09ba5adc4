"""What a job expects of its image: the user, sshd, the programs of `training/` and their exit codes.

`training/Dockerfile` builds such an image.
"""

import re

__all__ = [
    "BEGAN_AGAIN_LINE",
    "CLASS_FOLDERS",
    "COST_LINE",
    "DIGITS",
    "HOME",
    "LAUNCHER",
    "LOCAL_IMAGE",
    "LOCAL_TORCH_CUDA12_IMAGE",
    "LOCAL_TORCH_IMAGE",
    "MASK_RCNN",
    "MASK_RCNN_EVALUATION",
    "NCCL_TEST",
    "NETWORK_LINE",
    "PROGRESS_SPEED",
    "REACHABLE_HOSTS",
    "RESNET50",
    "RESULTS_LINE",
    "RUN_TORCHRUN",
    "RUN_WORKER",
    "SAGEMAKER",
    "SSHD_CONFIG",
    "SSH_PORT",
    "STAGING",
    "STOPPED",
    "TORCH_IMAGENET",
    "UID",
    "USER",
    "USER_ERROR",
    "explained",
    "python_module",
]

#: The non-root user of the image, and by default of every pod; the shared folders belong to it.
UID = 1000
USER = "mpiuser"
HOME = f"/home/{USER}"

#: A port that a non-root sshd may listen on, and the file of sshd's options: `training/Dockerfile` writes both.
SSH_PORT = 2222
SSHD_CONFIG = f"{HOME}/.sshd_config"

#: A name for local builds; for a cluster `render --image` gives the address in its registry.
LOCAL_IMAGE = "localhost/training:latest"

#: The same of `training/torch.Dockerfile`, and of that with the lock torch-cuda12, which has code for V100.
LOCAL_TORCH_IMAGE = "localhost/training-torch:latest"
LOCAL_TORCH_CUDA12_IMAGE = "localhost/training-torch-cuda12:latest"


def python_module(name: str) -> tuple[str, ...]:
    """Return the command that runs a Python module of the image."""
    return ("python", "-m", name)


# The modules of `training/` that jobs run: a renamed module is one edit here.
DIGITS = python_module("training.digits")
RESNET50 = python_module("training.resnet50")
MASK_RCNN = python_module("training.mask_rcnn")
MASK_RCNN_EVALUATION = python_module("training.mask_rcnn.evaluate")
NCCL_TEST = python_module("training.nccl_test")
STAGING = python_module("training.staging")
TORCH_IMAGENET = python_module("training.torch_imagenet")
CLASS_FOLDERS = python_module("training.imagenet.class_folders")

#: Runs the launch command behind its `--`: when every worker answers, and again when ranks are lost.
LAUNCHER = python_module("training.pods.launcher")

#: How the launcher's line about the network begins, such as "network: efa, 32/32 devices on 2/2 nodes".
NETWORK_LINE = "network: "

#: The speed in a line of progress, such as "epoch 1/90, step 100: …, 17,250 images/s, 0% of the time waiting for
#: images"; lines of the compilation and the warm-up have no share of the time.
PROGRESS_SPEED = re.compile(
    r"epoch \d+/\d+, step \d+: .* (?P<speed>\d[\d,]*(\.\d+)?(e-\d+)?) images/s, \d+% of the time waiting for images"
)

#: The launcher's line about the cost of a run with a cap.
COST_LINE = re.compile(r"cost: \$(?P<usd>[\d,.]+) of \$(?P<most>[\d,.]+), at \$(?P<rate>[\d,.]+) an hour")

#: The line about ranks that have started again and repeat their training, of the launcher and of torchrun's agent.
BEGAN_AGAIN_LINE = re.compile(r"started again without a checkpoint, (?P<where>.+); (?P<repeated>.+) are repeated: .*")

#: How the line of a program with its results begins: the numbers of results.json, as JSON.
RESULTS_LINE = "results: "

#: Prints those hosts of a discovery script whose sshd answers.
REACHABLE_HOSTS = python_module("training.pods.reachable_hosts")

#: Starts a worker's sshd and forwards a stop request to the ranks, which sshd does not.
RUN_WORKER = (*python_module("training.pods.worker"), "--")

#: The entry point of the image on SageMaker, which starts it on every host.
SAGEMAKER = python_module("training.pods.sagemaker")

#: Runs a worker's torchrun behind its `--`, and ends it with `USER_ERROR` when a rank reports such an error.
RUN_TORCHRUN = (*python_module("training.pods.torch_agent"), "--")

#: An error in what the user typed or wrote in a file; a restart would repeat it.
USER_ERROR = 2

#: EX_TEMPFAIL of sysexits.h: after a stop request, such as at a Spot notice, the ranks saved a checkpoint. The launcher
#: starts them again, and they resume.
STOPPED = 75

_MEANINGS = {
    USER_ERROR: "the program rejects what it was given: a restart repeats that",
    STOPPED: "stopped on request, the state is saved: a restart resumes",
}


def explained(code: int) -> str:
    """Return an exit code with its meaning, where this project defines one."""
    return f"exit code {code}" + (f" ({_MEANINGS[code]})" if code in _MEANINGS else "")
