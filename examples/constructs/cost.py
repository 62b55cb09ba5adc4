import aws_cdk as cdk
from training_cluster import LustreStorage, RootVolume, TrainingBudget, hourly_cost

app = cdk.App()
stack = cdk.Stack(app, "TrainingMoney")
TrainingBudget(stack, "Budget", monthly_usd=2000, email="team@example.com")
estimate = hourly_cost(
    nodes={"p4d.24xlarge": 2, "m5.xlarge": 2},
    root_volumes={RootVolume(gib=200): 2, RootVolume(gib=100, mib_per_second=600): 2},
    lustre=(LustreStorage(gib=1200, deployment_type="PERSISTENT_2", mbps_per_tib=125),),
    nat_gateways=1,
)
cdk.CfnOutput(stack, "EstimatedCostPerHour", value=str(estimate))
if estimate.usd_per_hour > 100 or estimate.unpriced:
    cdk.Annotations.of(stack).add_warning_v2("my-team:expensive", f"{estimate.total} per hour")
app.synth()
