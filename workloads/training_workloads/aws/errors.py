"""What AWS answers in place of a result: no credentials, no permission, no answer, a rejection."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

__all__ = ["AwsError", "NoPermissionError", "RejectionError", "RequestError", "UnreachableError", "aws_errors"]

_LOG_IN = "log in ('aws sso login', or the profile in AWS_PROFILE); 'aws sts get-caller-identity' shows who you are"

_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException")
_FORBIDDEN = re.compile(r"AccessDenied|Unauthorized|Forbidden|^403$")

# How most services name the action in their message.
_ACTION = re.compile(r"to perform:? ([\w-]+:\w+)")

# Where the name of the API, or of the operation, is not that of IAM:
# https://docs.aws.amazon.com/service-authorization/latest/reference/
_PREFIXES = {"service-quotas": "servicequotas", "efs": "elasticfilesystem"}
_ACTIONS = {
    "s3:ListObjectsV2": "s3:ListBucket",
    "s3:GetBucketEncryption": "s3:GetEncryptionConfiguration",
    "s3:GetBucketNotificationConfiguration": "s3:GetBucketNotification",
    "s3:GetPublicAccessBlock": "s3:GetBucketPublicAccessBlock",
}


class AwsError(Exception):
    """AWS cannot be asked: no credentials, or no region; the text says what happened and what to do."""


class RequestError(AwsError):
    """One request failed; others may succeed."""


class NoPermissionError(RequestError):
    """The user's role does not have a permission.

    Attributes:
        event: What happened, as a clause.
        fix: What to do, in the imperative.
    """

    def __init__(self, action: str) -> None:
        """Name the IAM action, such as `ec2:DescribeSubnets`."""
        self.event, self.fix = f"your role may not {action}", f"allow the action {action}"
        super().__init__(f"{self.event}; {self.fix}")


class UnreachableError(RequestError):
    """A service does not answer."""


class RejectionError(RequestError):
    """A service rejects a request.

    Attributes:
        code: The service's word for the reason.
    """

    def __init__(self, operation: str, code: str, message: str) -> None:
        super().__init__(f"AWS rejects {operation} ({code}): {message}")
        self.code = code


@contextmanager
def aws_errors(service: str | None = None) -> Iterator[None]:
    """Turn an error of boto3, for one service or for more, into one in the user's words."""
    from botocore import exceptions
    from botocore.parsers import ResponseParserError

    try:
        yield
    except exceptions.NoRegionError as error:
        raise AwsError("no region of AWS is set; set AWS_REGION, or 'region' of your profile") from error
    except (
        exceptions.NoCredentialsError,
        exceptions.CredentialRetrievalError,
        exceptions.PartialCredentialsError,
        exceptions.ProfileNotFound,
        exceptions.TokenRetrievalError,
        exceptions.SSOError,
    ) as error:
        raise AwsError(f"no credentials of AWS are found ({error}); {_LOG_IN}") from error
    except exceptions.ClientError as error:
        raise _rejected(service, error) from error
    # A proxy may answer with its login page.
    except (exceptions.ConnectionError, exceptions.HTTPClientError, ResponseParserError) as error:
        raise UnreachableError(f"{service or 'AWS'} cannot be reached: {error}") from error
    except exceptions.BotoCoreError as error:
        raise AwsError(f"AWS cannot be asked: {error}") from error


def _rejected(service: str | None, error: "ClientError") -> AwsError:
    reason = error.response.get("Error", {})
    code, message = str(reason.get("Code", "")), " ".join(str(reason.get("Message", "")).split())
    if code in _EXPIRED:
        return AwsError(f"AWS does not accept your credentials ({code}); {_LOG_IN}")
    if _FORBIDDEN.search(code):
        return NoPermissionError(_action(service, error.operation_name, message))
    return RejectionError(error.operation_name, code, message)


def _action(service: str | None, operation: str, message: str) -> str:
    if match := _ACTION.search(message):
        return match[1]
    action = f"{_PREFIXES.get(service, service)}:{operation}" if service else operation
    return _ACTIONS.get(action, action)
