"""The sizes of a network, and the boxes of each of its steps: Mask R-CNN R50-FPN, and a small one.

https://arxiv.org/abs/1703.06870 and https://arxiv.org/abs/1612.03144; the numbers are those of Detectron2's
`mask_rcnn_R_50_FPN`: https://github.com/facebookresearch/detectron2/tree/main/configs
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True, slots=True)
class Boxes:
    """How many proposals the region proposal network makes of an image.

    Attributes:
        before: The most of each level of the pyramid that non-maximum suppression receives.
        after: The most of all levels that it keeps.
    """

    before: int
    after: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Architecture:
    """The size of a network, and its frozen parts.

    Attributes:
        classes: Classes of objects; the box head has one output more, for the background.
        blocks: Blocks of each stage of the backbone.
        width: Channels inside the first stage's blocks.
        channels: Channels of each level of the pyramid, and of the region proposal network.
        box_width: Outputs of each of the box head's two layers.
        mask_channels: Channels of the mask head's convolutions.
        mask_convolutions: Convolutions of the mask head, before its deconvolution.
        anchor_sizes: Square root of the area of the anchors of P2 to P6, pixels.
        anchor_ratios: Height to width of the anchors of each place.
        pooling_size: Square root of the area from which on an object's features are those of P4, pixels; half of it is
            that of P3. The paper's 224 is the side of ImageNet's images.
        anchor_samples: Anchors of an image that learn; half of them may be objects.
        region_samples: Proposals of an image that learn; a quarter of them may be objects.
        training_boxes: Proposals in training.
        detection_boxes: Proposals in an evaluation.
        frozen_stages: Stages of the backbone that do not learn, counted from the images.
        frozen_normalization: Whether the backbone's batch normalization keeps its values.
    """

    classes: int
    blocks: tuple[int, int, int, int]
    width: int
    channels: int
    box_width: int
    mask_channels: int
    mask_convolutions: int
    anchor_sizes: tuple[int, int, int, int, int]
    anchor_ratios: tuple[float, ...] = (0.5, 1.0, 2.0)
    pooling_size: int
    anchor_samples: int
    region_samples: int
    training_boxes: Boxes
    detection_boxes: Boxes
    frozen_stages: int
    frozen_normalization: bool


#: For COCO; its backbone begins with the weights of a trained classifier.
RESNET50_FPN = Architecture(
    classes=80,
    blocks=(3, 4, 6, 3),
    width=64,
    channels=256,
    box_width=1024,
    mask_channels=256,
    mask_convolutions=4,
    anchor_sizes=(32, 64, 128, 256, 512),
    pooling_size=224,
    anchor_samples=256,
    region_samples=512,
    training_boxes=Boxes(before=2000, after=1000),
    detection_boxes=Boxes(before=1000, after=1000),
    frozen_stages=2,
    frozen_normalization=True,
)

#: For images of 128 to 160 pixels with large shapes; it learns on a CPU, from the beginning.
SMALL = Architecture(
    classes=4,
    blocks=(1, 1, 1, 1),
    width=16,
    channels=64,
    box_width=128,
    mask_channels=32,
    mask_convolutions=2,
    anchor_sizes=(12, 24, 48, 96, 160),
    pooling_size=112,
    anchor_samples=128,
    region_samples=64,
    training_boxes=Boxes(before=200, after=150),
    detection_boxes=Boxes(before=200, after=150),
    frozen_stages=0,
    frozen_normalization=False,
)

#: By the values of '--architecture'.
ARCHITECTURES = {"resnet50-fpn": RESNET50_FPN, "small": SMALL}


def architecture(name: str, classes: int, *, backbone: bool) -> Architecture:
    """Return an architecture for a number of categories; without a trained backbone nothing of it is frozen.

    Args:
        name: Given as '--architecture'.
        classes: Categories of the dataset.
        backbone: Whether its weights are given.
    """
    chosen = replace(ARCHITECTURES[name], classes=classes)
    return chosen if backbone else replace(chosen, frozen_stages=0, frozen_normalization=False)
