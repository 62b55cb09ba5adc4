"""The form of a name that Kubernetes takes for namespaces and service accounts."""

from typing import Any

from training_workloads.errors import check_text

__all__ = ["DNS_LABEL", "DNS_LABEL_RULE", "check_dns_label"]

# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names
DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
DNS_LABEL_RULE = "lower-case letters, digits and '-', at most 63"


def check_dns_label(argument: str, value: Any) -> None:
    """Refuses what is not a DNS label.

    Args:
        argument: What the user set, spelled as they typed it.
        value: What they gave.

    Raises:
        InputError: `value` is not a string, has other characters, or more than 63 of them.
    """
    check_text(argument, value, DNS_LABEL, DNS_LABEL_RULE)
