"""Types of the catalog that no test names, so that a search for the retired names finds the catalog only."""

from training_workloads.catalog import INSTANCE_TYPES

#: A type that AWS has retired.
RETIRED = next(each.name for each in INSTANCE_TYPES.values() if each.retired)

#: A type with GPUs and without local disks: its root volume, of 200 GiB, holds the images.
DISKLESS = next(each.name for each in INSTANCE_TYPES.values() if each.gpus and not each.local_nvme_disks)
