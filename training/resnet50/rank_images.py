"""The images of a run: for each rank its part, in its order."""

from collections.abc import Sequence
from pathlib import Path

from training.imagenet import decoded_images, input_pipeline
from training.imagenet.imagenet_splits import TOTALS
from training.imagenet.input_pipeline import InputPipeline, SyntheticPipeline
from training.imagenet.split_images import Data
from training.records import cache, rank_records
from training.records.data_threads import data_threads
from training.records.numbered_records import Records
from training.records.shard_files import TRAIN, VALIDATION
from training.resnet50.settings import Settings
from training.runtime import ranks
from training.runtime.distributed import on_every_rank
from training.runtime.errors import UserError
from training.runtime.schedule import check_batch_size


def load(settings: Settings, *, on_gpu: bool) -> Data:
    """Find the images; every rank must call it.

    Raises:
        UserError: They are missing or damaged; on every rank.
    """
    decoding = input_pipeline.Settings(
        image_size=settings.image_size,
        classes=settings.classes,
        seed=settings.seed,
        min_crop_area=settings.min_crop_area,
        mirror=settings.mirror == "on",
        threads=data_threads(ranks.current().local_size()),
        device="/GPU:0" if on_gpu else None,
        skip_damaged=settings.on_bad_data == "skip",
        dali=settings.decode == "gpu",
    )
    if decoding.dali:
        # One machine may have lost its GPU.
        on_every_rank(lambda: _check_gpu(on_gpu))
    if settings.data_dir is None:
        pipeline = SyntheticPipeline(decoding)
        data = Data(
            training_images=TOTALS[TRAIN],
            validation_images=TOTALS[VALIDATION],
            training=pipeline,
            validation=pipeline,
            batch_size=settings.batch_size,
            seed=settings.seed,
        )
    else:
        data = _from_files(settings.data_dir, settings, decoding)
    check_batch_size(settings.batch_size, images=data.training_images, ranks=ranks.size())
    return data


def _check_gpu(on_gpu: bool) -> None:
    if not on_gpu:
        raise UserError("'--decode' is gpu, but this machine has no GPU that TensorFlow can use; give '--decode cpu'")


def _from_files(folder: Path, settings: Settings, decoding: input_pipeline.Settings) -> Data:
    skip = decoding.skip_damaged
    opened = rank_records.open_splits(folder, (TRAIN, VALIDATION), classes=settings.classes, skip_damaged=skip)
    files = {**opened[0].fingerprint, **opened[1].fingerprint}
    memory = _memory(opened, settings.cache)
    if settings.cache == "records":
        opened = [cache.CachedRecords(records, rank_records.own_range(records)) for records in opened]
    train, validation = (
        InputPipeline(records, decoding, rank_records.own_range(records) if settings.cache == "decoded" else None)
        for records in opened
    )
    return Data(
        training_images=len(opened[0]),
        validation_images=len(opened[1]),
        training=train,
        validation=validation,
        batch_size=settings.batch_size,
        seed=settings.seed,
        damage=[*opened[0].damage, *opened[1].damage],
        damaged=sum(records.damaged for records in opened),
        fingerprint=files,
        memory=memory,
    )


def _memory(splits: Sequence[Records], kind: str) -> list[str]:
    """Describe what '--cache' keeps in memory.

    Raises:
        UserError: It does not fit into a rank's part of the free memory of a machine; on every rank.
    """
    if kind == "off":
        return []

    def check() -> tuple[cache.Memory, bool]:
        parts = [(records, rank_records.own_range(records)) for records in splits]
        if kind == "records":
            return cache.check(kind, sum(cache.needed(*part) for part in parts), ranks.current().local_size()), False
        estimates = [decoded_images.estimate(*part) for part in parts]
        memory = cache.check(kind, sum(each.needed for each in estimates), ranks.current().local_size())
        return memory, any(each.reduced for each in estimates)

    # Where the memory of one machine is too small, all ranks stop.
    found = on_every_rank(check)
    most = max((memory for memory, _ in found), key=lambda each: each.needed / max(each.free, 1))
    is_reduced = any(reduced for _, reduced in found)
    caveats = [f"warning: '--cache decoded': {decoded_images.CAVEAT}"] if is_reduced else []
    return [most.sentence(kind), *caveats]
