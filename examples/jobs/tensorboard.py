import cdk8s
from training_workloads import TensorBoard, TensorBoardSpec

app = cdk8s.App()
spec = TensorBoardSpec(image="111122223333.dkr.ecr.us-east-1.amazonaws.com/training:1")
TensorBoard(cdk8s.Chart(app, "tensorboard"), "TensorBoard", spec=spec)
app.synth()
