"""The source of a conversion: COCO's archives or extracted folders, with the annotations of both splits."""

import hashlib
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.coco import annotations
from training.coco.annotations import AnnotatedImage, Annotations
from training.coco.categories import Category
from training.records.conversion import source_images, zip_images
from training.records.conversion.source_images import SourceImage
from training.records.shard_files import TRAIN, VALIDATION
from training.runtime.errors import UserError

#: Images of COCO 2017: https://cocodataset.org/#download
TOTALS = {TRAIN: 118_287, VALIDATION: 5_000}

_FOLDERS = {TRAIN: "train2017", VALIDATION: "val2017"}
_ANNOTATIONS = "annotations_trainval2017.zip"
_LAYOUT = (
    f"train2017.zip or train2017/, val2017.zip or val2017/, and {_ANNOTATIONS} or annotations/ with "
    "instances_train2017.json and instances_val2017.json"
)


@dataclass(frozen=True, slots=True)
class CocoImage:
    """An image to convert: its file, and its objects."""

    source: SourceImage
    annotated: AnnotatedImage
    annotations: str
    """The file of the annotations, for messages."""

    def __str__(self) -> str:
        return f"{self.source} (image {self.annotated.image_id})"

    @property
    def identity(self) -> str:
        """Return the identity of the image in its dataset."""
        return f"{self.annotated.image_id} {self.source.name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """The images of one split, in the order of their ids, so that archives and folders give the same shards."""

    place: Path
    """The archive or the folder with the images."""
    images: Sequence[CocoImage]
    annotations: Annotations
    digest: str
    """Digest of the annotations' bytes."""
    problems: Sequence[str]
    """Images and annotations that cannot be used, a sentence each."""


@dataclass(frozen=True, slots=True)
class Source:
    """Both splits and their categories."""

    splits: Mapping[str, Split]
    categories: Sequence[Category]

    @property
    def is_coco(self) -> bool:
        """Return whether the categories are COCO's 80, by their number, the first and the last one."""
        ends = [(each.coco_id, each.name) for each in (self.categories[0], self.categories[-1])]
        return len(self.categories) == 80 and ends == [(1, "person"), (90, "toothbrush")]

    @property
    def problems(self) -> list[str]:
        """Return the problems of both splits."""
        return [problem for split in self.splits.values() for problem in split.problems]

    def sentences(self) -> list[str]:
        """Describe the source."""
        kind = "COCO's" if self.is_coco else "not COCO's, so their images are counted but not compared"
        lines = []
        for name, split in self.splits.items():
            objects = [each for image in split.images for each in image.annotated.objects]
            crowds = sum(each.is_crowd for each in objects)
            empty = sum(not image.annotated.objects for image in split.images)
            lines.append(
                f"{name}: {len(split.images):,} images in {split.place}, {len(objects) - crowds:,} objects and "
                f"{crowds:,} crowd regions in {split.annotations.place}; {empty:,} images have none"
            )
            lines += [f"note: left out: {each}" for each in split.annotations.without_area]
            lines += [f"note: cut at the image: {each}" for each in split.annotations.cut]
        ends = f"{self.categories[0].name} to {self.categories[-1].name}"
        return [*lines, f"categories: {len(self.categories)}, {ends}, {kind}"]


def find(folder: Path, *, allow_missing: bool) -> Source:
    """List the images of archives or of folders, and read their annotations.

    Args:
        folder: Given as '--source'.
        allow_missing: Whether COCO may be incomplete.

    Raises:
        UserError: The source is incomplete or damaged, or its splits have different categories.
    """
    if not folder.is_dir():
        raise UserError(f"'--source' is {folder}, which is not a folder; give the folder with {_LAYOUT}")
    try:
        splits = {split: _split(folder, split) for split in _FOLDERS}
    except OSError as error:
        raise UserError(f"{error.filename} cannot be read ({error.strerror}); fix that, then start again") from error
    train, validation = (split.annotations for split in splits.values())
    if train.categories != validation.categories:
        raise UserError(
            f"{train.place} and {validation.place} have different categories; give both splits of the same dataset"
        )
    source = Source(splits, train.categories)
    if source.is_coco and not allow_missing:
        _check_totals(source)
    return source


def _split(folder: Path, split: str) -> Split:
    place, files = _files(folder, split)
    content, name = _annotations(folder, split)
    parsed = annotations.parse(content, name)
    problems, images = list(parsed.problems), []
    for _, image in sorted(parsed.images.items()):
        source = files.pop(image.entry["file_name"], None)
        if source is None:
            problems.append(f"{name}: image {image.image_id} is {image.entry['file_name']}, which is not in {place}")
        else:
            images.append(CocoImage(source, image, name))
    problems += [f"{source} is not among the images of {name}" for _, source in sorted(files.items())]
    digest = hashlib.sha256(content).hexdigest()[:16]
    return Split(place=place, images=images, annotations=parsed, digest=digest, problems=problems)


def _files(folder: Path, split: str) -> tuple[Path, dict[str, SourceImage]]:
    """Return the archive or the folder of a split, and its images by their names."""
    name = _FOLDERS[split]
    archive, images = folder / f"{name}.zip", folder / name
    if archive.is_file():
        listed = zip_images.images(archive)
        if stranger := next((each.member for each in listed if not each.member.startswith(f"{name}/")), None):
            raise UserError(f"{archive} contains {stranger}, which is not in {name}/; give COCO's archive of 2017")
        return archive, {image.name: image for image in listed}
    if images.is_dir():
        names = [entry.name for entry in os.scandir(images) if not entry.name.startswith(".")]
        return images, {name: SourceImage(str(images / name)) for name in names}
    raise _unknown_layout(folder, name)


def _annotations(folder: Path, split: str) -> tuple[bytes, str]:
    """Return the annotations of a split, and their place."""
    name = f"annotations/instances_{_FOLDERS[split]}.json"
    archive = folder / _ANNOTATIONS
    if archive.is_file():
        try:
            with zipfile.ZipFile(archive) as opened:
                return opened.read(name), f"{archive}: {name}"
        except KeyError as error:
            raise UserError(f"{archive} contains no {name}; give COCO's archive of 2017") from error
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise UserError(f"{archive} cannot be read ({error}); download it again") from error
    if (folder / name).is_file():
        return (folder / name).read_bytes(), str(folder / name)
    raise _unknown_layout(folder, name)


def _unknown_layout(folder: Path, missing: str) -> UserError:
    content = source_images.content_of(folder)
    return UserError(
        f"'--source' is {folder}, which has no {missing} and contains {content}; give the folder with {_LAYOUT}"
    )


def _check_totals(source: Source) -> None:
    for name, split in source.splits.items():
        if len(split.images) != TOTALS[name]:
            raise UserError(
                f"{split.place} contains {len(split.images):,} images of {split.annotations.place}, but COCO 2017 has "
                f"{TOTALS[name]:,} ({name}); download or extract it again, or convert the other images with "
                "'--on-bad-data skip'"
            )
