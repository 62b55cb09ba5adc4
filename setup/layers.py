"""The layers of the packages: tests/test_layers.py enforces them, and docs/pictures/layers.svg shows them."""

__all__ = ["LAYERS"]

#: The parts of a package, lowest layer first: a part imports itself and the layers below it.
LAYERS = {
    "training_workloads": [
        {"validation"},
        {"names", "yaml_lines", "nodejs", "terminal"},
        {"spec"},
        {"keywords", "catalog", "app_errors"},
        {"manifests"},
        {"mpijob"},
        {"lint", "exit_codes"},
        {"jobs"},
        {"platform", "planning"},
        {"recipes"},
        {"rendering"},
        {"run_local", "cluster", "aws"},
        {"images", "resume_test"},
        {"bench", "sagemaker"},
        {"cli"},
        {"__main__"},
    ],
    "training_cluster": [
        {"stack_order"},
        {"checks", "kubernetes_manifest", "lifecycle", "single_owner", "suppressions"},
        {"constant_exports", "log_group"},
        {"network"},
        {"identity"},
        {"storage", "platform"},
        {"monitoring", "nodes"},
        {"team"},
        {"cluster", "sagemaker"},
        {"config"},
        {"imported_site"},
        {"complete_training_cluster", "complete_sagemaker_training", "account"},
        {"changes"},
        {"cli"},
    ],
    "training": [
        {"runtime"},
        {"records", "pods"},
        {"digits", "staging", "nccl_test", "torch", "keras"},
        {"transformers", "lightning"},
        # ImageNet's converter also writes the digits as shards.
        {"imagenet", "coco"},
        {"resnet50"},
        {"mask_rcnn"},
        {"torch_imagenet"},
    ],
}
