import aws_cdk as cdk
from training_cluster import TrainingKey, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "Networks")
key = TrainingKey(stack, "Key")
zones = ["us-east-1a", "us-east-1b"]
network = TrainingNetwork(
    stack, "Network", cidr="10.8.0.0/16", availability_zones=zones, training_zone="us-east-1b", encryption_key=key
)
cdk.CfnOutput(stack, "GpuSubnet", value=network.training_subnet.subnet_id)
# Nodes that reach AWS and nothing else.
TrainingNetwork(stack, "WithoutInternet", cidr="10.9.0.0/16", availability_zones=zones, nat=False, encryption_key=key)
app.synth()
