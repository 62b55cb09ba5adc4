"""The options that the programs for ImageNet share, whatever computes."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from training.imagenet.crops_and_colors import MIN_CROP_AREA
from training.imagenet.recipe import Given, Recipe
from training.runtime.command_line import number_from, positive_number, whole_number
from training.runtime.errors import UserError
from training.runtime.options import changed, option, printed
from training.runtime.run_settings import RunSettings

#: The layouts of '--data-dir', in the words of a description or an error.
LAYOUTS = "shards (train-00000-of-01024 …), or of folders train/<class> and val/<class>"


@dataclass(frozen=True, kw_only=True)
class ClassifierSettings(RunSettings):
    """The options of a program that trains a classifier of images.

    None is an option that was not given: the recipe decides `learning_rate`, `warmup_epochs`, `weight_decay` and
    `momentum` (see `with_recipe`), and the device decides `precision` (see `on_device`).
    """

    data_dir: Path | None = changed(RunSettings, "data_dir", help=f"folder of {LAYOUTS}", default=None)
    synthetic: bool = option(
        bool, "random images from memory instead, to measure speed without input", default=False, group="data"
    )
    image_size: int = option(whole_number(32), "pixels of each side", default=224, group="data", learned=True)
    classes: int = option(whole_number(2), "labels are 1 to this", default=1000, group="data", learned=True)

    epochs: int = changed(RunSettings, "epochs", default=90)
    batch_size: int = changed(RunSettings, "batch_size", default=256)
    learning_rate: float | None = option(
        positive_number, "for 256 images of a step (0.256)", default=None, group="recipe", learned=printed
    )
    warmup_epochs: int | None = option(
        whole_number(0), "epochs to reach that rate (5)", default=None, group="recipe", learned=True
    )
    weight_decay: float | None = option(
        number_from(0), "factor of the L2 term's gradient (1/32768)", default=None, group="recipe", learned=printed
    )
    momentum: float | None = option(
        number_from(0, 0.999999),
        "part of the step before that each step repeats (0.875)",
        default=None,
        group="recipe",
        learned=printed,
    )
    label_smoothing: float = option(
        number_from(0, 0.9), "share spread over all classes", default=0.1, group="recipe", learned=True
    )
    min_crop_area: float = option(
        number_from(0.01, 1),
        "smallest crop, as a part of the image; larger where a small part does not show the class",
        default=MIN_CROP_AREA,
        group="recipe",
        learned=True,
    )
    mirror: str = option(
        ("on", "off"),
        "mirror half of the training images; off for writing and whatever else has sides",
        default="on",
        group="recipe",
        learned=True,
    )

    def __post_init__(self) -> None:
        """Reject a run without images, and one with two sources of them."""
        if self.data_dir is None and not self.synthetic:
            raise UserError(
                f"neither '--data-dir' nor '--synthetic' is given; give a folder of {LAYOUTS}, or --synthetic for a "
                "test of speed"
            )
        if self.data_dir is not None and self.synthetic:
            raise UserError("'--data-dir' and '--synthetic' are both given; give one of them")

    @property
    def given(self) -> Given:
        """The values of the recipe that are given."""
        return {
            "learning_rate": self.learning_rate,
            "warmup_epochs": self.warmup_epochs,
            "weight_decay": self.weight_decay,
            "momentum": self.momentum,
        }

    def with_recipe(self, recipe: Recipe) -> Self:
        """Return the settings with all values of a recipe."""
        return replace(
            self,
            learning_rate=recipe.learning_rate,
            warmup_epochs=recipe.schedule.warmup_epochs,
            weight_decay=recipe.weight_decay,
            momentum=recipe.momentum,
        )

    def ways_to_less_memory(self) -> list[str]:
        """Return the options with which the run needs less memory, a clause each."""
        return super().ways_to_less_memory() or [f"'--image-size' is {self.image_size}: give a smaller one"]
