from aws_cdk import assertions


def test_bucket_and_images_outlive_the_stack(data_template: assertions.Template) -> None:
    for kind in ("AWS::S3::Bucket", "AWS::ECR::Repository"):
        (resource,) = data_template.find_resources(kind).values()
        assert resource["DeletionPolicy"] == "Retain", kind


def test_the_outputs_name_them(data_template: assertions.Template) -> None:
    outputs = data_template.to_json()["Outputs"]
    assert {"BucketName", "ImageRepositoryUri"} <= set(outputs)
