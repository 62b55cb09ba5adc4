"""What the loop must know of TensorFlow."""

from training.runtime.software_versions import versions
from training.runtime.task import Framework
from training.runtime.tensorboard_curves import Curves

#: Of every program with TensorFlow.
TENSORFLOW = Framework(curves=Curves, versions=versions)
