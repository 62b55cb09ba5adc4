import aws_cdk as cdk
from training_cluster import ElasticFileSystem, ElasticVolume, TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "Notebooks")
network = TrainingNetwork(stack, "Network")
cluster = TrainingCluster(stack, "Cluster", vpc=network, efs=True)
shared = ElasticFileSystem(stack, "Shared", vpc=network)
ElasticVolume(stack, "SharedVolume", cluster=cluster, file_system=shared)
app.synth()
