"""The mistakes that a user can make and mend."""


class UserError(Exception):
    """A mistake in what the user gave: the message says what was given, what is allowed, and what to do."""
