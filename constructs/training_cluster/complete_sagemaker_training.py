"""Training on SageMaker as a configuration describes it: network, role, file systems and notebook in one construct."""

from aws_cdk import Annotations, CfnOutput
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from constructs import Construct

from training_cluster.checks import Bucket, Key, Repository
from training_cluster.config import SageMakerConfig
from training_cluster.imported_site import imported_efs, imported_lustre, imported_vpc
from training_cluster.network.training_network import TrainingNetwork, private_subnets
from training_cluster.sagemaker.sagemaker_training import SageMakerTraining, sagemaker_services
from training_cluster.sagemaker.training_notebook import TrainingNotebook
from training_cluster.storage.elastic_file_system import ElasticFileSystem, ImportedElasticFileSystem
from training_cluster.storage.lustre_file_system import LustreFileSystem, LustreFileSystemBase
from training_cluster.storage.lustre_spec import LustreSpec
from training_workloads.keywords import checked

__all__ = ["CompleteSageMakerTraining"]


class CompleteSageMakerTraining(Construct):
    """Everything that the section `sagemaker` describes, in any stack, stage or region.

    Attributes:
        config: The section.
        network: The VPC, a `TrainingNetwork` unless the section names an existing one.
        lustre: The Lustre file system; None where the section describes none.
        elastic_file_system: The Elastic File System; None where the section describes none.
        training: Role, subnets and security group of the jobs.
        notebook: The notebook instance; None where the section describes none.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: SageMakerConfig,
        bucket: Bucket,
        repository: Repository,
        encryption_key: Key | None = None,
    ) -> None:
        """Define the parts.

        Args:
            config: The section `sagemaker` of a configuration.
            bucket: The bucket of data sets, checkpoints and results.
            repository: The repository of the training images.
            encryption_key: Key of the bucket, the file systems, the notebook's volume and the logs. Default: the
                services' own keys.

        Raises:
            InputError: `config` is not a `SageMakerConfig`, or another argument is of another type.
        """
        super().__init__(scope, id)
        self.config, self._key = config, encryption_key
        self.network = self._network()
        self.lustre = self._lustre(bucket)
        self.elastic_file_system = self._efs()
        self.training = SageMakerTraining(
            self,
            "Training",
            vpc=self.network,
            subnets=[self._training_subnet] if self.lustre else None,
            bucket=bucket,
            repository=repository,
            lustre=self.lustre,
            elastic_file_system=self.elastic_file_system,
            data_prefix=config.data_prefix,
            encryption_key=encryption_key,
        )
        self.notebook = self._notebook()
        self._add_outputs()

    def _network(self) -> ec2.IVpc:
        config, services = self.config, sagemaker_services(notebook=self.config.notebook is not None)
        if config.existing_vpc:
            names = ", ".join(service.short_name for service in services.values())
            Annotations.of(self).add_warning_v2(
                "cdk-training-cluster:endpoints-of-existing-vpc",
                "'sagemaker.existing_vpc' needs NAT, or a gateway endpoint of S3 and interface endpoints with private "
                f"DNS names of {names}; without S3 jobs do not start",
            )
            return imported_vpc(self, config.existing_vpc, config.availability_zones)
        return TrainingNetwork(
            self,
            "Network",
            cidr=config.vpc_cidr,
            availability_zones=config.availability_zones,
            training_zone=config.training_zone,
            nat=config.nat,
            services=services,
            encryption_key=self._key,
        )

    @property
    def _training_subnet(self) -> ec2.ISubnet:
        zone, zones = self.config.training_zone, self.config.availability_zones
        return private_subnets(self.network)[zones.index(zone) if zone else 0]

    def _lustre(self, bucket: s3.IBucket) -> LustreFileSystemBase | None:
        config = self.config
        if config.existing_lustre:
            return imported_lustre(self, config.existing_lustre)
        if config.lustre is None:
            return None
        return LustreFileSystem(
            self,
            "Lustre",
            vpc=self.network,
            subnet=self._training_subnet,
            bucket=bucket,
            encryption_key=self._key,
            **config.lustre.given(LustreSpec),
        )

    def _efs(self) -> ElasticFileSystem | ImportedElasticFileSystem | None:
        if self.config.existing_efs:
            return imported_efs(self, self.config.existing_efs)
        if not self.config.efs:
            return None
        return ElasticFileSystem(self, "Efs", vpc=self.network, for_sagemaker=True, encryption_key=self._key)

    def _notebook(self) -> TrainingNotebook | None:
        notebook = self.config.notebook
        if notebook is None:
            return None
        return TrainingNotebook(self, "Notebook", training=self.training, encryption_key=self._key, **notebook.given())

    def _add_outputs(self) -> None:
        """Define the outputs that `trainctl sagemaker` reads."""
        training = self.training
        outputs = {
            "TrainingRoleArn": training.role.role_arn,
            "SubnetIds": ",".join(subnet.subnet_id for subnet in training.subnets),
            "SecurityGroupId": training.security_group.security_group_id,
            "BucketName": training.bucket.bucket_name,
            "DataPrefix": self.config.data_prefix,
            "ImageRepositoryUri": training.repository.repository_uri,
            "JobTag": training.job_tag,
        }
        if self._key:
            outputs["KeyArn"] = self._key.key_arn
        if self.lustre:
            outputs["LustreFileSystemId"] = self.lustre.file_system_id
            outputs["LustreMountName"] = self.lustre.mount_name
        if self.elastic_file_system:
            outputs["ElasticFileSystemId"] = self.elastic_file_system.file_system_id
        if self.notebook:
            outputs["NotebookInstanceName"] = self.notebook.notebook_instance_name
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)
