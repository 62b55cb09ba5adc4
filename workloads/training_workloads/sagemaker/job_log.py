"""The log of a training job in CloudWatch: the lines of all hosts, in the order of their times."""

from typing import Any, Final

from training_workloads.aws.errors import aws_errors
from training_workloads.aws.session import AwsSession
from training_workloads.run_local.rank_lines import rank_line

__all__ = ["LOG_GROUP", "JobLog"]

#: Where SageMaker writes the logs of training jobs; the stream of a host is `<job>/algo-1-<time>`
#: (https://docs.aws.amazon.com/sagemaker/latest/dg/logging-cloudwatch.html, read 2026-11-23).
LOG_GROUP: Final = "/aws/sagemaker/TrainingJobs"

# A line of one host may arrive after later ones of another, and FilterLogEvents is ordered by time.
_LATE_MILLISECONDS = 60_000


class JobLog:
    """Reads a log from its beginning, page by page, and then what has come since."""

    def __init__(self, session: AwsSession, job: str) -> None:
        with aws_errors("logs"):
            self._client = session.client("logs")
        self._prefix = f"{job}/"
        self._page: dict[str, Any] = {"startTime": 0}
        self._newest = 0
        self._shown: dict[str, int] = {}

    def read(self) -> tuple[list[str], bool]:
        """Return the lines of the next page that were not read yet, and whether there are more pages.

        A line has its host: `algo-1 | text`. Before there is a log, there are none. After an error, the same page is
        read again.

        Raises:
            AwsError: AWS rejects the request, or cannot be asked.
        """
        with aws_errors("logs"):
            try:
                page = self._client.filter_log_events(
                    logGroupName=LOG_GROUP, logStreamNamePrefix=self._prefix, **self._page
                )
            except self._client.exceptions.ResourceNotFoundException:
                # The first job of a region creates the group.
                return [], False
        new = [event for event in page["events"] if event["eventId"] not in self._shown]
        self._shown |= {event["eventId"]: event["timestamp"] for event in new}
        self._newest = max([self._newest, *(event["timestamp"] for event in new)])
        if token := page.get("nextToken"):
            self._page["nextToken"] = token
        else:
            # A log of days must not fill the memory: older lines are not asked for again.
            oldest = max(0, self._newest - _LATE_MILLISECONDS)
            self._page = {"startTime": oldest}
            self._shown = {event: time for event, time in self._shown.items() if time >= oldest}
        return [f"{_host(event['logStreamName'])} | {rank_line(event['message'].rstrip())}" for event in new], bool(
            token
        )


def _host(stream: str) -> str:
    """Return the name of the host of a stream: of `job/algo-1-1700000000` algo-1."""
    return stream.rpartition("/")[2].rpartition("-")[0]
