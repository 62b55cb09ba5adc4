"""The images that the CPUs of all nodes can prepare."""

from dataclasses import dataclass

__all__ = ["InputSupply", "input_supply"]

#: What a vCPU of EC2 reaches of a core that was measured: it is half a core, and of an older processor on P3.
#: Estimated, not measured (docs/jobs/resnet50.md uses the same).
_LEAST, _MOST = 0.25, 0.40


@dataclass(frozen=True, kw_only=True, slots=True)
class InputSupply:
    """Images per second of all nodes.

    Attributes:
        least: With the lower estimate of a vCPU.
        most: With the higher one.
    """

    least: float
    most: float

    @property
    def expected(self) -> float:
        """The middle of the estimates."""
        return (self.least + self.most) / 2


def input_supply(vcpus: int, images_per_core: float) -> InputSupply:
    """Return what the vCPUs of all ranks prepare.

    Args:
        vcpus: Of all ranks.
        images_per_core: What one core prepared where it was measured.
    """
    return InputSupply(least=vcpus * images_per_core * _LEAST, most=vcpus * images_per_core * _MOST)
