import aws_cdk as cdk
from training_cluster import (
    DataRepository,
    LustreFileSystem,
    LustreVolume,
    TrainingBucket,
    TrainingCluster,
    TrainingNetwork,
)

app = cdk.App()
below = cdk.Stack(app, "Storage")
network = TrainingNetwork(below, "Network")
lustre = LustreFileSystem(
    below,
    "Lustre",
    vpc=network,
    subnet=network.training_subnet,
    bucket=TrainingBucket(below, "Bucket"),
    capacity_gib=cdk.Size.gibibytes(4800),
    throughput_mbps_per_tib=500,
    data_repositories=[
        DataRepository(path="/data", prefix="datasets"),
        DataRepository(path="/runs", prefix="runs"),
    ],
)
stack = cdk.Stack(app, "Training")
cluster = TrainingCluster(stack, "Cluster", vpc=network)
LustreVolume(stack, "LustreVolume", cluster=cluster, file_system=lustre)
app.synth()
