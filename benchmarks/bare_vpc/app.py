"""The smallest app with a resource: one VPC."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

app = cdk.App()
ec2.Vpc(cdk.Stack(app, "BareVpc"), "Vpc", max_azs=2)
app.synth()
