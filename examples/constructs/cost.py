import aws_cdk as cdk
from training_cluster import TrainingBudget, hourly_cost

app = cdk.App()
stack = cdk.Stack(app, "TrainingMoney")
TrainingBudget(stack, "Budget", monthly_usd=2000, email="team@example.com")
estimate = hourly_cost(nodes={"p4d.24xlarge": 2, "m5.xlarge": 2}, nat_gateways=1)
cdk.CfnOutput(stack, "EstimatedCostPerHour", value=str(estimate))
if estimate.usd_per_hour is not None and estimate.usd_per_hour > 100:
    cdk.Annotations.of(stack).add_warning_v2("my-team:expensive", f"{estimate.usd_per_hour:.0f} USD per hour")
app.synth()
