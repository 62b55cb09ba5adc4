"""The images that the CPUs of a node can prepare."""

from dataclasses import dataclass

__all__ = ["InputSupply", "input_supply"]

#: Images that one core decodes, crops and resizes in a second: `make bench-input` on an AMD EPYC (Zen 4) with JPEGs of
#: 500x400, docs/jobs/resnet50.md. COCO's images are larger, but nothing was measured for them.
_PER_CORE = 721

#: What a vCPU of EC2 reaches of that: half a core, of an older processor on P3. Estimated, not measured
#: (docs/jobs/resnet50.md uses the same: 180 to 288 images/s).
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

    @property
    def per_vcpu_estimate(self) -> float:
        """The middle of the estimates, for one vCPU."""
        return _PER_CORE * (_LEAST + _MOST) / 2


def input_supply(vcpus: int) -> InputSupply:
    """Return what the vCPUs of all ranks prepare."""
    return InputSupply(least=vcpus * _PER_CORE * _LEAST, most=vcpus * _PER_CORE * _MOST)
