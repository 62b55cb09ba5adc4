"""What mpirun starts as a rank: it has the fork server fork the rank, forwards signals to it, and ends as it ends.

python fork_client.py SOCKET ARGUMENT…

Only the standard library, and no package of the project: it must start in milliseconds.
"""

import json
import os
import signal
import socket
import sys

_FORWARDED = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP)


def main() -> int:
    """Return the exit code of the rank, or end by the signal that ended it."""
    server, *arguments = sys.argv[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(server)
        for number in _FORWARDED:
            signal.signal(number, lambda received, _: connection.send(bytes([received])))
        request = {"arguments": arguments, "folder": os.getcwd(), "variables": dict(os.environ)}
        socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
        # The rank alone has the output now: its end must show as the end of the file.
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        answer = connection.recv(16)
    # Without an answer the server is dead.
    status = int(answer or b"256")
    if os.WIFSIGNALED(status):
        ended_by = os.WTERMSIG(status)
        if ended_by != signal.SIGKILL:
            signal.signal(ended_by, signal.SIG_DFL)
        os.kill(os.getpid(), ended_by)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
