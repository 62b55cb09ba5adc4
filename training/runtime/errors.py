"""Errors that a user can fix."""

#: The exit code of a program that has reported a `UserError`; a restart would repeat the error.
USER_ERROR = 2


class UserError(Exception):
    """An error in the input: the message says what was given, what is allowed, and what to do."""


class RankError(UserError):
    """An error of this rank alone, such as a damaged file that only it reads: the other ranks do not know of it."""
