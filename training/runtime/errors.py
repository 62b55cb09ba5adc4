"""Errors that end a run with a message: those that a user can fix, and those that the next start may not meet."""

import errno

#: The exit code of a program that has reported a `UserError`; a restart would repeat the error.
USER_ERROR = 2


class UserError(Exception):
    """An error in the input: the message has the given value, the allowed values, and a way to fix it."""


class RankError(UserError):
    """An error of this rank alone, such as a damaged file that only it reads: the other ranks do not know of it."""


#: The errors of a network file system that was lost, often for a while; EIO may be a damaged disk too.
LOST_FILE_SYSTEM = (errno.EIO, errno.ESTALE, errno.ESHUTDOWN, errno.ETIMEDOUT, errno.ENOTCONN)


class LostProcessError(Exception):
    """A process that this rank has lost, another rank or one that it started: the launcher starts the ranks again."""


class LostFileSystemError(Exception):
    """A file system that was lost, on this rank at least: the launcher starts the ranks again."""
