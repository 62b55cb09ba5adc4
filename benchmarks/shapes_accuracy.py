"""The accuracy of Mask R-CNN by the whole path, from made images to masks, on two CPU ranks: `make train-shapes`.

A small network of the same code replaces ResNet-50-FPN, and 480 images of shapes COCO's 118,287.
"""

import shutil
import subprocess
import sys
import time

from benchmarks.launched_ranks import ROOT, train

LEAST = {"bbox/AP50": 0.90, "segm/AP50": 0.85}
MOST_SECONDS = 20 * 60

FOLDER = ROOT / "dist/shapes"

OPTIONS = ["--architecture", "small", "--batch-size", "4", "--epochs", "32", "--warmup-steps", "100"]
OPTIONS += ["--learning-rate", "0.02", "--clip-norm", "5", "--evaluate-every", "8epochs"]


def main() -> None:
    """Print the accuracy and the time; the exit code is 1 where one of them misses its bar."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    source, data, run = FOLDER / "source", FOLDER / "data", FOLDER / "run"
    started = time.monotonic()
    _python("training.coco.shapes", "--output-dir", str(source), "--images", "480")
    shards = ["--train-shards", "4", "--validation-shards", "2"]
    _python("training.coco.convert", "--source", str(source), "--output-dir", str(data), *shards)
    results, training_seconds = train(["-m", "training.mask_rcnn", "--data-dir", str(data), *OPTIONS], run)
    seconds = time.monotonic() - started
    print(
        f"Mask R-CNN on made shapes, two ranks: box AP50 {results['bbox/AP50']:.4f}, mask AP50 "
        f"{results['segm/AP50']:.4f}, box AP {results['bbox/AP']:.4f}, mask AP {results['segm/AP']:.4f} of "
        f"{results['evaluated_images']} images in {seconds:.0f} s, {training_seconds:.0f} s of them training; "
        f"{results['images_per_second']:.1f} images/s\nthe picture: {run / 'predictions.png'}"
    )
    missed = [f"{name} {results[name]:.4f} (bar {bar})" for name, bar in LEAST.items() if not results[name] >= bar]
    if seconds > MOST_SECONDS:
        missed.append(f"{seconds:.0f} s (bar {MOST_SECONDS})")
    if missed:
        sys.exit(f"error: missed: {', '.join(missed)}")


def _python(module: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, check=True)


main()
