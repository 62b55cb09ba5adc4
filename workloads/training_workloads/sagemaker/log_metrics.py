"""The metrics that SageMaker reads from the log of a job, for CloudWatch: the lines are those of `training/runtime`.

SageMaker searches each line for each expression, and takes what the group matches as the value
(https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_MetricDefinition.html, read 2026-11-23).
"""

__all__ = ["METRICS", "metric_definitions"]

# As Python writes numbers with .4f, .0f, .2g and .4g.
_NUMBER = r"([0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)"

# A line of some steps, "epoch 1/90, step 100: …", or that of an epoch, "epoch 1/90: …". A tag may be before it.
_LINE = r"epoch [0-9]+/[0-9]+(?:, step [0-9]+)?: "

#: Expressions by the names of the metrics. Lines of the compilation and the warm-up have no speed of the run: theirs is
#: followed by words. The accuracy is that of the digits or of ImageNet's first guess.
METRICS = {
    "loss": rf"{_LINE}loss {_NUMBER}",
    "learning_rate": rf"{_LINE}.*learning rate {_NUMBER}",
    "images_per_second": rf"{_LINE}(?:.*, )?{_NUMBER} images/s(?:, | \()",
    "data_wait_percent": rf"{_LINE}.* images/s, {_NUMBER}% of the time waiting for images",
    "accuracy": rf"{_LINE}.*(?:test accuracy|top-1) {_NUMBER}",
    "top5_accuracy": rf"{_LINE}.*top-5 {_NUMBER}",
    "box_AP": rf"{_LINE}.*box AP {_NUMBER}",
    "mask_AP": rf"{_LINE}.*mask AP {_NUMBER}",
}


def metric_definitions() -> list[dict[str, str]]:
    """Return the metrics as a CreateTrainingJob request has them."""
    return [{"Name": name, "Regex": expression} for name, expression in METRICS.items()]
