import cdk8s
from training_workloads import HorovodJob, HorovodJobSpec, Scheduling

app = cdk8s.App()
spec = HorovodJobSpec(
    name="digits",
    image="111122223333.dkr.ecr.us-east-1.amazonaws.com/training:1",
    command=("python", "-m", "training.digits", "--output-dir", "/fsx/runs/digits"),
    instance_type="p5.48xlarge",
    workers=16,
    scheduling=Scheduling(queue="research", priority_class="high", colocate_in="topology.k8s.aws/network-node-layer-3"),
)
HorovodJob(cdk8s.Chart(app, "digits"), "Job", spec=spec)
app.synth()
