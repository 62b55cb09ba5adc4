"""The exit codes of `trainctl`; those for 2 and 75 are also those of a job's programs."""

from typing import Final

from training_workloads.mpijob.programs import STOPPED, USER_ERROR

__all__ = [
    "ABORTED",
    "CHECK_FAILED",
    "CLUSTER_FAILED",
    "INTERRUPTED",
    "JOB_FAILED",
    "LINT_ERRORS",
    "OUTPUT_FAILED",
    "STOPPED",
    "TIMED_OUT",
    "USER_ERROR",
]

#: The job ended without success, or was deleted before its end.
JOB_FAILED: Final = 1

#: A manifest has an error.
LINT_ERRORS: Final = 1

#: The account lacks what a cluster needs, or a cluster is in use and is not destroyed.
CHECK_FAILED: Final = 1

#: The user answered a question of a command with no.
ABORTED: Final = 1

#: The cluster cannot be reached, or rejected a request.
CLUSTER_FAILED: Final = 3

#: The time that the user gave, or that pods have to end, is over.
TIMED_OUT: Final = 4

#: The output cannot be written, such as on a full disk: EX_IOERR of sysexits.h.
OUTPUT_FAILED: Final = 74

#: Ctrl-C, in the convention of shells: 128 + SIGINT.
INTERRUPTED: Final = 130
