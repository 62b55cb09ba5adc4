import aws_cdk as cdk
from training_cluster import TrainingCluster, TrainingNetwork

app = cdk.App()
stack = cdk.Stack(app, "Shared")
network = TrainingNetwork(stack, "Network")
cluster = TrainingCluster(stack, "Cluster", vpc=network, admin_arns=["arn:aws:iam::111122223333:role/Admin"])
cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge", max_size=4)
cluster.add_job_queue("Queue")
vision = ["arn:aws:iam::111122223333:role/Vision"]
cluster.add_team("vision", user_id=2001, gpus={"gpu": 8}, member_arns=vision)
cluster.add_team("speech", user_id=2002, gpus={"gpu": 16}, member_arns=["arn:aws:iam::111122223333:role/Speech"])
cluster.add_platform("Platform")
app.synth()
