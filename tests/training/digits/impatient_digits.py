"""Run training.digits, which waits for another run in its folder for a second only."""

import os
import socket
import sys
from unittest import mock

from training.digits.__main__ import main
from training.runtime import horovod_ranks, run_lock
from training.runtime.distributed import run

run_lock._LIVE_SECONDS, run_lock._BEAT_SECONDS = 1.0, 0.2
# As if each run was on another host: on its own one a start waits for longer.
mock.patch.object(socket, "gethostname", return_value=f"host-{os.getpid()}").start()

if __name__ == "__main__":
    horovod_ranks.init()
    sys.exit(run(main))
