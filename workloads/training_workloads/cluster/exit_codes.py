"""What the exit codes of the commands that talk to a cluster mean; 2, the user's mistake, is `cli.program`'s.

Those of a job's own programs, such as 75 for one that was asked to stop, are explained in `jobs.exit_codes`.
"""

__all__ = ["CLUSTER_FAILED", "INTERRUPTED", "JOB_FAILED", "TIMED_OUT"]

#: The job ended without success, or was deleted before its end.
JOB_FAILED = 1

#: The cluster could not be reached, or refused what was asked.
CLUSTER_FAILED = 3

#: The time that the user gave, or that pods have to end, is over.
TIMED_OUT = 4

#: Ctrl-C, as shells count it: 128 + SIGINT.
INTERRUPTED = 130
