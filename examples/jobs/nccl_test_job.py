import cdk8s
from training_workloads import NcclTestJob, NcclTestJobSpec

app = cdk8s.App()
image = "111122223333.dkr.ecr.us-east-1.amazonaws.com/training:1"
for interfaces, name in ((None, "nccl-all-efa"), (1, "nccl-one-efa"), (0, "nccl-tcp")):
    spec = NcclTestJobSpec(name=name, image=image, instance_type="p5.48xlarge", efa_interfaces=interfaces)
    NcclTestJob(cdk8s.Chart(app, name), "Test", spec=spec)
app.synth()
