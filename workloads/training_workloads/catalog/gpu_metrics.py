"""The instance types on which the CloudWatch add-on collects metrics of GPUs by itself."""

__all__ = ["COLLECTED_BY_DEFAULT"]

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
