"""An account of the emulator in one region: clients of boto3, and the variables for other programs."""

from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config

from tests.deploy.emulator import Emulator


@dataclass(frozen=True)
class Aws:
    """An account in a region."""

    emulator: Emulator
    account: str
    region: str

    def __call__(self, service: str) -> Any:
        """Return the client of a service."""
        return boto3.client(
            service,
            region_name=self.region,
            endpoint_url=self.emulator.url,
            aws_access_key_id=self.account,
            aws_secret_access_key="secret",
            config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
        )

    def environment(self) -> dict[str, str]:
        """Return the variables for the CDK."""
        return self.emulator.environment(self.account, self.region)
