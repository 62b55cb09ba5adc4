"""What the tests of a deployment expect of types of resources, and of preflight."""

__all__ = ["FOUND_BY_PREFLIGHT", "NAMED_IN_THE_DOCUMENT", "NOT_READ"]

#: What a test compares with the template by itself: CloudFormation's own objects, and what the emulator cannot say.
NOT_READ = {
    "AWS::Budgets::Budget",
    "AWS::CDK::Metadata",
    "AWS::CloudWatch::Dashboard",
    "AWS::CodeBuild::Project",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::Route",
    "AWS::EC2::RouteTable",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPCEndpoint",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::Lambda::Function",
    "AWS::Lambda::LayerVersion",
    "AWS::Logs::MetricFilter",
    "AWS::SNS::TopicPolicy",
    "AWS::SSM::Parameter",
}

#: What `cdk destroy` leaves: types, and their names in docs/tear-down.md.
NAMED_IN_THE_DOCUMENT = {
    "AWS::ECR::Repository": "images",
    "AWS::EFS::FileSystem": "EFS",
    "AWS::KMS::Key": "key",
    "AWS::Logs::LogGroup": "log",
    "AWS::S3::Bucket": "bucket",
    "AWS::S3::BucketPolicy": "bucket",
}

#: What preflight finds out about the deployed default. The emulator lacks the list of offered types, Service Quotas,
#: CloudWatch's metrics of FSx and the API server of Kubernetes: skipped. It has none of AWS's public parameters, and
#: no image is pushed and no data set copied: failed.
FOUND_BY_PREFLIGHT = {
    "credentials": "ok",
    "zones of the region": "ok",
    "zones for EKS": "ok",
    "zones offer the instance types": "skipped",
    "zones offer the system nodes": "skipped",
    "vcpu quotas allow the nodes": "skipped",
    "network interface quota allows the nodes": "skipped",
    "vpc quotas allow the network": "skipped",
    "eks quota allows the cluster": "skipped",
    "fsx quotas allow the file system": "skipped",
    "AMI release": "ok",
    "AMI release of the system nodes": "ok",
    "addon versions are offered": "skipped",
    "CDK bootstrap": "ok",
    "addresses in us-east-1a": "ok",
    "image": "failed",
    "data set of /": "failed",
    "size of the data set": "ok",
    "Lustre exports": "skipped",
    "state of the stack": "ok",
    "deployed VPC": "ok",
    "deployed zones": "ok",
    "deployed Lustre": "ok",
    "Kubernetes release": "ok",
    "no job holds an update": "skipped",
}
