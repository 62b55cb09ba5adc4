"""The client of S3, and its errors in the user's words."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore import exceptions
from botocore.config import Config

from training.runtime.errors import UserError

#: What a second try may mend: the connection broke, or S3 did not answer in time.
TRANSIENT = (exceptions.HTTPClientError, exceptions.ConnectionError, exceptions.IncompleteReadError)

_NO_CREDENTIALS = (
    exceptions.NoCredentialsError,
    exceptions.PartialCredentialsError,
    exceptions.CredentialRetrievalError,
    exceptions.MetadataRetrievalError,
)
_DENIED = ("AccessDenied", "403", "AllAccessDisabled", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken")


def make_client(connections: int) -> Any:
    """Makes a client for so many threads at once."""
    retries = {"mode": "standard", "max_attempts": 8}
    return boto3.Session().client("s3", config=Config(max_pool_connections=connections, retries=retries))


@contextmanager
def in_the_users_words(where: str) -> Iterator[None]:
    """Turns the errors of S3 that a user can mend into `UserError`s.

    Args:
        where: The object or the folder that is asked for, as s3://….
    """
    try:
        yield
    except _NO_CREDENTIALS as error:
        raise UserError(
            f"there are no AWS credentials to read {where} with ({error}); run the pod under a service account that "
            "has a Pod Identity association with a role that may read the bucket"
        ) from error
    except exceptions.ClientError as error:
        raise UserError(_sentence(where, error)) from error
    except TRANSIENT as error:
        raise UserError(
            f"S3 cannot be reached for {where}: {error}; see to the network, then start again: it goes on"
        ) from error


def _sentence(where: str, error: exceptions.ClientError) -> str:
    code, message = error.response["Error"].get("Code", ""), error.response["Error"].get("Message", "")
    if code == "NoSuchBucket":
        return f"'--source' is {where}, but there is no such bucket; give one that exists"
    if code in _DENIED:
        return (
            f"S3 refuses {error.operation_name} for {where} ({code}); let the role of the pod's service account use "
            "s3:ListBucket on the bucket and s3:GetObject on its objects, and kms:Decrypt where they are encrypted"
        )
    return f"S3 answers {error.operation_name} for {where} with {code}: {message}"
