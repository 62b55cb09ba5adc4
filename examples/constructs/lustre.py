import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from training_cluster import DataRepositorySpec, LustreFileSystem, LustreSpec

app = cdk.App()
stack = cdk.Stack(app, "Storage")
vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
nodes = ec2.SecurityGroup(stack, "Nodes", vpc=vpc)
lustre = LustreFileSystem(
    stack,
    "Lustre",
    vpc=vpc,
    subnet=vpc.private_subnets[0],
    clients=nodes,
    bucket=s3.Bucket(stack, "Bucket"),
    spec=LustreSpec(
        capacity_gib=4800,
        throughput_mbps_per_tib=500,
        data_repositories=(
            DataRepositorySpec(path="/data", prefix="datasets"),
            DataRepositorySpec(path="/runs", prefix="runs"),
        ),
    ),
)
cdk.CfnOutput(stack, "DnsName", value=lustre.dns_name)
app.synth()
