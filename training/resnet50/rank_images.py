"""The images of a run: for each rank its part, in its order."""

from collections.abc import Sequence
from pathlib import Path

from training.imagenet import decoded_images, input_pipeline
from training.imagenet.classifier_settings import ClassifierSettings
from training.imagenet.input_pipeline import InputPipeline, SyntheticPipeline
from training.imagenet.synthetic_images import synthetic
from training.records import cache, rank_records
from training.records.numbered_records import Records
from training.records.run_data import Data
from training.records.shard_files import TRAIN, VALIDATION
from training.runtime import ranks
from training.runtime.cores import data_threads
from training.runtime.distributed import on_every_rank
from training.runtime.errors import UserError


def load(settings: ClassifierSettings, *, kept: str, dali: bool, on_gpu: bool) -> Data:
    """Find the images; every rank must call it.

    Args:
        settings: The command line.
        kept: Given as '--cache'.
        dali: Whether DALI decodes, on the GPU.
        on_gpu: Whether this rank computes on a GPU.

    Raises:
        UserError: They are missing or damaged; on every rank.
    """
    decoding = input_pipeline.Settings(
        run=settings,
        threads=data_threads(ranks.current().local_size()),
        device="/GPU:0" if on_gpu else None,
        dali=dali,
    )
    if dali:
        # One machine may have lost its GPU.
        on_every_rank(lambda: _check_gpu(on_gpu))
    if settings.data_dir is None:
        return synthetic(SyntheticPipeline(decoding), settings)
    return _from_files(settings.data_dir, settings, decoding, kept)


def _check_gpu(on_gpu: bool) -> None:
    if not on_gpu:
        raise UserError("'--decode' is gpu, but this machine has no GPU that TensorFlow can use; give '--decode cpu'")


def _from_files(folder: Path, settings: ClassifierSettings, decoding: input_pipeline.Settings, kept: str) -> Data:
    opened = rank_records.open_splits(
        folder, (TRAIN, VALIDATION), classes=settings.classes, skip_damaged=settings.skip_damaged
    )
    memory = _memory(opened, kept)
    if kept == "records":
        opened = [cache.CachedRecords(records, rank_records.own_range(records)) for records in opened]
    pipelines = [
        InputPipeline(records, decoding, rank_records.own_range(records) if kept == "decoded" else None)
        for records in opened
    ]
    return Data.of_records(opened, pipelines, batch_size=settings.batch_size, seed=settings.seed, notes=memory)


def _memory(splits: Sequence[Records], kind: str) -> list[str]:
    """Describe the memory that '--cache' takes.

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
