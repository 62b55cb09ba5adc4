"""The end of a rank whose launcher is lost."""

import os
import select
import threading
from contextlib import suppress

# Set for each rank by mpirun, and by horovodrun.
_RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "HOROVOD_RANK")


def end_with_the_launcher() -> None:
    """End this process, if a launcher started it, as soon as the other end of its output is closed.

    It would keep its GPU, and write beside the ranks of the next launcher: `horovodrun` starts ranks by plain ssh, and
    sshd does not end a program whose connection is lost. Open MPI ends the ranks of a lost `mpirun`, but one that hangs
    in its exit would stay until its watchdog ends it, minutes later. An output into a file never ends a rank.
    """
    if not any(name in os.environ for name in _RANK_VARIABLES):
        return
    poll = select.poll()
    # No events: poll always reports that the other end was closed. By number: `sys.stdout` may have been replaced.
    poll.register(1, 0)

    def wait() -> None:
        if any(event == select.POLLNVAL for _, event in poll.poll()):
            # It has no output.
            return
        with suppress(OSError):
            reason = "the other end of this rank's output is closed, as when its launcher is lost: the rank ends"
            os.write(2, f"error: {reason}\n".encode())
        # Without cleaning up, which would wait for ranks that have ended too.
        os._exit(1)

    threading.Thread(target=wait, name="end-with-the-launcher", daemon=True).start()
