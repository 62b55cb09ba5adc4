import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from training_cluster import ElasticFileSystem

app = cdk.App()
stack = cdk.Stack(app, "Storage")
vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
nodes = ec2.SecurityGroup(stack, "Nodes", vpc=vpc)
shared = ElasticFileSystem(stack, "Shared", vpc=vpc, subnets=vpc.private_subnets, clients=nodes)
cdk.CfnOutput(stack, "AccessPointId", value=shared.access_point_id)
app.synth()
