import cdk8s
from training_workloads import MpiJob, MpiJobSpec, ReplicaSpec, RunPolicy

app = cdk8s.App()
image = "mpioperator/mpi-pi:openmpi"
as_user = {"runAsUser": 1000}
launcher = {
    "name": "launcher",
    "image": image,
    "command": ["mpirun", "-np", "4", "--hostfile", "/etc/mpi/hostfile", "--bind-to", "none", "/home/mpiuser/pi"],
}
worker = {
    "name": "worker",
    "image": image,
    "command": ["/usr/sbin/sshd", "-De", "-f", "/home/mpiuser/.sshd_config"],
    "readinessProbe": {"tcpSocket": {"port": 2222}},
}
spec = MpiJobSpec(
    name="pi",
    slots_per_worker=2,
    ssh_auth_mount_path="/home/mpiuser/.ssh",
    launcher=ReplicaSpec(template={"spec": {"containers": [launcher], "securityContext": as_user}}),
    worker=ReplicaSpec(template={"spec": {"containers": [worker], "securityContext": as_user}}, replicas=2),
    run_policy=RunPolicy(ttl_seconds_after_finished=3600),
)
MpiJob(cdk8s.Chart(app, "pi"), "Job", spec=spec)
app.synth()
