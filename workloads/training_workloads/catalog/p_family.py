"""The P family: GPUs for training, from V100 to B300.

Sockets: AWS does not publish them; they are the cores divided by the cores of one CPU of the type's model (Xeon
E5-2686 v4 18 on P3, Xeon 8175M and 8275CL 24 on P3dn and P4, EPYC 7R13 48 on P5 and P5e, Xeon 8488C 48 on P5en,
Xeon 8559C 48 on P6), rounded up.

Capacity Blocks: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html
"""

from datetime import date

from training_workloads.catalog.gpus import A100_40, A100_80, B200, B300, H100, H200, V100_16, V100_32
from training_workloads.catalog.instance_type import CHECKED, BusBandwidth, InstanceType, Price, Retirement, us_east_1

__all__ = ["P_FAMILY"]

_AWSOME = "https://github.com/awslabs/awsome-distributed-ai/blob/main/micro-benchmarks/nccl-tests/README.md"
_DO_EKS = "https://github.com/aws-samples/aws-do-eks"
#: Read in a copy of that site's data, as the price list for us-east-1 did not contain the type.
_VANTAGE = "https://instances.vantage.sh/aws/ec2/p6-b300.48xlarge"

#: The page quotes AWS's notice; https://github.com/dstackai/gpuhunt/pull/233 saw that EC2 no longer describes them.
_P3_RETIRED = Retirement(
    on=date(2025, 12, 20),
    source="https://github.com/zalando-incubator/kubernetes-on-aws/pull/8685",
    successors=("p3dn.24xlarge", "p4d.24xlarge"),
)


def _two_nodes(gigabytes_per_second: float, message_gib: int, source: str) -> BusBandwidth:
    return BusBandwidth(
        gigabytes_per_second=gigabytes_per_second, message_gib=message_gib, nodes=2, source=source, checked=CHECKED
    )


P_FAMILY = (
    InstanceType(
        name="p3.2xlarge",
        gpu=V100_16,
        gpus=1,
        vcpus=8,
        sockets=1,
        memory_gib=61,
        network_gbps=10,
        network_bursts=True,
        price=us_east_1(3.06),
        retired=_P3_RETIRED,
    ),
    InstanceType(
        name="p3.8xlarge",
        gpu=V100_16,
        gpus=4,
        vcpus=32,
        sockets=1,
        memory_gib=244,
        network_gbps=10,
        price=us_east_1(12.24),
        retired=_P3_RETIRED,
    ),
    InstanceType(
        name="p3.16xlarge",
        gpu=V100_16,
        gpus=8,
        vcpus=64,
        sockets=2,
        memory_gib=488,
        network_gbps=25,
        price=us_east_1(24.48),
        retired=_P3_RETIRED,
    ),
    InstanceType(
        name="p3dn.24xlarge",
        gpu=V100_32,
        gpus=8,
        vcpus=96,
        sockets=2,
        memory_gib=768,
        network_gbps=100,
        efa_cards=range(1),
        local_nvme_gb=1800,
        local_nvme_disks=2,
        price=us_east_1(31.212),
    ),
    InstanceType(
        name="p4d.24xlarge",
        gpu=A100_40,
        gpus=8,
        vcpus=96,
        sockets=2,
        memory_gib=1152,
        network_gbps=400,
        efa_cards=range(4),
        local_nvme_gb=8000,
        local_nvme_disks=8,
        capacity_block=True,
        price=us_east_1(21.957642),
    ),
    InstanceType(
        name="p4de.24xlarge",
        gpu=A100_80,
        gpus=8,
        vcpus=96,
        sockets=2,
        memory_gib=1152,
        network_gbps=400,
        efa_cards=range(4),
        local_nvme_gb=8000,
        local_nvme_disks=8,
        capacity_block=True,
        all_reduce_bandwidth=_two_nodes(78.3, 2, _AWSOME),
        price=us_east_1(27.44705),
    ),
    InstanceType(
        name="p5.4xlarge",
        gpu=H100,
        gpus=1,
        vcpus=16,
        sockets=1,
        memory_gib=256,
        network_gbps=100,
        efa_cards=range(1),
        local_nvme_gb=3800,
        local_nvme_disks=1,
        capacity_block=True,
        price=us_east_1(6.88),
    ),
    InstanceType(
        name="p5.48xlarge",
        gpu=H100,
        gpus=8,
        vcpus=192,
        sockets=2,
        memory_gib=2048,
        network_gbps=3200,
        efa_cards=range(32),
        local_nvme_gb=30400,
        local_nvme_disks=8,
        capacity_block=True,
        all_reduce_bandwidth=_two_nodes(487, 16, _AWSOME),
        price=us_east_1(55.04),
    ),
    InstanceType(
        name="p5e.48xlarge",
        gpu=H200,
        gpus=8,
        vcpus=192,
        sockets=2,
        memory_gib=2048,
        network_gbps=3200,
        efa_cards=range(32),
        local_nvme_gb=30400,
        local_nvme_disks=8,
        capacity_block=True,
    ),
    InstanceType(
        name="p5en.48xlarge",
        gpu=H200,
        gpus=8,
        vcpus=192,
        sockets=2,
        memory_gib=2048,
        network_gbps=3200,
        efa_cards=range(16),
        local_nvme_gb=30400,
        local_nvme_disks=8,
        capacity_block=True,
        price=us_east_1(63.296),
    ),
    InstanceType(
        name="p6-b200.48xlarge",
        gpu=B200,
        gpus=8,
        vcpus=192,
        sockets=2,
        memory_gib=2048,
        network_gbps=3200,
        efa_cards=range(8),
        local_nvme_gb=30400,
        local_nvme_disks=8,
        capacity_block=True,
        all_reduce_bandwidth=_two_nodes(523.8, 8, _DO_EKS),
        price=us_east_1(113.9328),
    ),
    # Card 0 has no EFA; it carries only IP traffic.
    InstanceType(
        name="p6-b300.48xlarge",
        gpu=B300,
        gpus=8,
        vcpus=192,
        sockets=2,
        memory_gib=4096,
        network_gbps=6400,
        efa_cards=range(1, 17),
        local_nvme_gb=30400,
        local_nvme_disks=8,
        capacity_block=True,
        price=Price(usd_per_hour=142.416, region="us-west-2", source=_VANTAGE, checked=date(2025, 12, 21)),
        source="https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html",
    ),
)
