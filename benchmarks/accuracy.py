"""The accuracy of ResNet-50 by the whole path, from JPEG TFRecords, on two ranks.

`make bench-accuracy` trains with TensorFlow, `make bench-torch-accuracy` with PyTorch.

scikit-learn's 1,437 handwritten digits replace ImageNet's 1,281,167 images: in the same layout, through the same
program, and with the whole network, but with images of 32 pixels.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.launched_ranks import ROOT, train

LEAST = 0.95
MOST_SECONDS = 600

# A rate of 0.2 makes the loss rise. Neither a twelfth of a digit nor its mirror image shows which digit it is: with the
# crops and flips of ImageNet's recipe 36 epochs reached 0.93.
OPTIONS = ["--image-size", "32", "--classes", "10", "--batch-size", "32", "--epochs", "16", "--warmup-epochs", "2"]
OPTIONS += ["--learning-rate", "0.02", "--min-crop-area", "0.5", "--mirror", "off"]


def main() -> None:
    """Print the accuracy and the time; the exit code is 1 where one of them misses its bar."""
    torch = sys.argv[1:] == ["--torch"]
    program = "training.torch_imagenet" if torch else "training.resnet50"
    with tempfile.TemporaryDirectory() as folder:
        data, output = Path(folder) / "data", Path(folder) / "run"
        digits = [sys.executable, "-m", "training.imagenet.digit_shards", "--output-dir", str(data)]
        subprocess.run(digits, cwd=ROOT, check=True)
        results, seconds = train(["-m", program, "--data-dir", str(data), *OPTIONS], output, torch=torch)
    accuracy, images = results["accuracy"], results["evaluated_images"]
    print(f"{program} on the digits, two ranks: top-1 {accuracy:.4f} of {images} images in {seconds:.0f} s")
    if accuracy < LEAST or seconds > MOST_SECONDS:
        sys.exit(f"error: the bar is {LEAST} within {MOST_SECONDS} s")


main()
