"""What a job expects of its image: the user, and how its sshd is set up. `training/Dockerfile` makes such an image."""

__all__ = ["HOME", "LOCAL_IMAGE", "RUN_WORKER", "SSHD_CONFIG", "SSH_PORT", "UID"]

#: The non-root user that every pod runs as; the shared folders belong to it.
UID = 1000
HOME = "/home/mpiuser"

#: A port that a non-root sshd may listen on.
SSH_PORT = 2222
SSHD_CONFIG = f"{HOME}/.sshd_config"

#: What starts a worker's sshd and hands a request to end on to the ranks, which an sshd does not.
RUN_WORKER = ("python", "-m", "training.worker", "--")

#: A name for local builds; for a cluster `render --image` gives the address in its registry.
LOCAL_IMAGE = "localhost/training:latest"
