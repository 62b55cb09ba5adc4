"""The forms of names and values that Kubernetes checks."""

from typing import NamedTuple

from training_workloads import names
from training_workloads.names import DNS_LABEL, DNS_LABEL_RULE, DNS_SUBDOMAIN

__all__ = ["LABEL", "LABEL_VALUE", "SERVICE", "SUBDOMAIN", "NameForm"]


class NameForm(NamedTuple):
    """A form of names: a regular expression for the whole, and the same in words."""

    pattern: str
    rule: str


# The forms of https://github.com/kubernetes/apimachinery/blob/v0.35.0/pkg/util/validation/validation.go.
LABEL = NameForm(DNS_LABEL, DNS_LABEL_RULE)
SUBDOMAIN = NameForm(DNS_SUBDOMAIN, "lower-case letters, digits, '-' and '.', at most 253")
SERVICE = NameForm(
    r"(?!.{16})(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?",
    "lower-case letters, digits and single '-', at most 15, with a letter",
)
LABEL_VALUE = NameForm(names.LABEL_VALUE, "letters, digits, '-', '_' and '.', at most 63")
