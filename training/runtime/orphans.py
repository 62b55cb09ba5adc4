"""A rank without its launcher."""

import os
import select
import threading


def end_with_the_launcher(output: int) -> None:
    """Ends this process as soon as nobody reads its output any more.

    `horovodrun` starts ranks by plain ssh, and sshd does not end a program whose connection is lost. Such a rank would
    keep its GPU, and go on writing checkpoints beside the ranks of the launcher that is started next.

    Args:
        output: The file descriptor of a pipe or a socket; any other kind never ends the process.
    """
    poll = select.poll()
    # No events: only that the other end was closed is told.
    poll.register(output, 0)

    def wait() -> None:
        poll.poll()
        # Without cleaning up: that would wait for ranks that are gone too.
        os._exit(1)

    threading.Thread(target=wait, name="end-with-the-launcher", daemon=True).start()
