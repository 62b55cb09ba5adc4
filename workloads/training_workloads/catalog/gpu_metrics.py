"""The metrics of GPUs: where the CloudWatch add-on collects its own, and those that it does not send."""

from dataclasses import dataclass

__all__ = ["COLLECTED_BY_DEFAULT", "GPU_DETAILS", "GpuCounter"]

#: Types of the catalog's families in `dcgmExporter.affinity`, the add-on's list of types for its DCGM exporter; on any
#: other there is no exporter and no GPU metric (https://github.com/aws-observability/helm-charts, `values.yaml` of the
#: chart amazon-cloudwatch-observability at f51dfba, read 2026-11-23). Later releases have more; those of p6 could not
#: be read one by one (https://github.com/aws-observability/helm-charts/pull/258).
COLLECTED_BY_DEFAULT = frozenset(
    f"{family}.{size}"
    for family, sizes in {
        "g4dn": "xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge metal",
        "g5": "xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge",
        "g6": "xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge",
        "g6e": "xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge",
        "gr6": "4xlarge 8xlarge",
        "p3": "2xlarge 8xlarge 16xlarge",
        "p3dn": "24xlarge",
        "p4d": "24xlarge",
        "p4de": "24xlarge",
        "p5": "48xlarge",
        "p5e": "48xlarge",
        "p5en": "48xlarge",
    }.items()
    for size in sizes.split()
)


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuCounter:
    """A counter of DCGM, which only grows: CloudWatch gets what was added since the last minute.

    Attributes:
        field: DCGM's name of the field, and so the name of the metric.
        meaning: The counted quantity, with its unit.
        group: The widget that shows it.
    """

    field: str
    meaning: str
    group: str

    @property
    def csv(self) -> str:
        """The line of the exporter's list, whose columns have no quotes."""
        return f"{self.field}, counter, {self.meaning}"


def _counters(group: str, **meanings: str) -> tuple[GpuCounter, ...]:
    return tuple(
        GpuCounter(field=f"DCGM_FI_DEV_{name}", meaning=meaning, group=group) for name, meaning in meanings.items()
    )


#: What the add-on's exporter does not send: it has power, temperature, utilisation and memory (`metricsConfig` of
#: dcgm-exporter-daemonset.yaml in https://github.com/aws-observability/helm-charts at 0ae2af0, read 2026-11-23).
#:
#: Names, types and units: etc/dcp-metrics-included.csv of https://github.com/NVIDIA/dcgm-exporter (main, read
#: 2026-11-23). NVIDIA states no unit of the NVLink traffic (https://github.com/NVIDIA/DCGM/issues/221). The time below
#: the clocks is a sum by reason; DCGM_FI_DEV_CLOCKS_EVENT_REASONS is a bit mask, whose average says nothing. No field
#: is of DCGM's profiling (DCGM_FI_PROF_…), which the add-on's exporter may hold.
GPU_DETAILS = (
    *_counters("energy", TOTAL_ENERGY_CONSUMPTION="energy since boot in mJ"),
    *_counters(
        "throttled",
        POWER_VIOLATION="time below the clocks for the power limit in ns",
        THERMAL_VIOLATION="time below the clocks for heat in ns",
        SYNC_BOOST_VIOLATION="time below the clocks for other GPUs of a sync boost group in ns",
        BOARD_LIMIT_VIOLATION="time below the clocks for a limit of the board in ns",
        RELIABILITY_VIOLATION="time below the clocks for reliability in ns",
    ),
    *_counters("nvlink", NVLINK_BANDWIDTH_TOTAL="traffic of all NVLink lanes without a documented unit"),
    *_counters(
        "nvlink errors",
        NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL="NVLink flow-control CRC errors",
        NVLINK_CRC_DATA_ERROR_COUNT_TOTAL="NVLink data CRC errors",
        NVLINK_REPLAY_ERROR_COUNT_TOTAL="NVLink retries",
        NVLINK_RECOVERY_ERROR_COUNT_TOTAL="NVLink recovery errors",
    ),
)
