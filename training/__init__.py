"""The programs in the container, the same on a laptop: `python -m training.digits`."""

import os
from pathlib import Path

# Only in the image and in the repository: where this folder is the library `exact_resume`, a user's script decides.
# Here, because the package is imported before any of its modules imports TensorFlow, which reads this variable once.
# TensorFlow 2.15 logs three "Unable to register … factory" errors at every start. Level 3 hides them where there is no
# NVIDIA driver, and with it no GPU code whose errors could be missed; failures still arrive as Python exceptions.
if __name__ == "training":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1" if Path("/proc/driver/nvidia").exists() else "3")
