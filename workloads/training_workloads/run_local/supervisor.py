"""Starts a launcher, passes on its output, and sees to it that nothing of the run outlives it."""

import signal
import subprocess
from dataclasses import dataclass

from training_workloads.run_local.failure import exit_code, what_ended_it
from training_workloads.run_local.output import LauncherOutput
from training_workloads.run_local.processes import Family, caught_signals, end_with_parent

__all__ = ["Ending", "supervise"]

# How long after the launcher's end it is noticed at the latest.
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """How a run ended.

    Attributes:
        code: Exit code of the run.
        reason: What ended it, where it failed; else None.
    """

    code: int
    reason: str | None


def supervise(command: list[str], environment: dict[str, str], *, name: str) -> Ending:
    """Runs a launcher to its end, or until a signal or a closed output ends the run.

    Args:
        command: The launcher's argv.
        environment: Its variables.
        name: The launcher's name, for the reason.
    """
    family = Family()
    with caught_signals() as came, family.adopted():
        launcher = subprocess.Popen(
            command,
            env=environment,
            # As in a pod, there is nobody to ask.
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Ctrl-C is for this program alone, which then ends the others in order.
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        output = LauncherOutput(launcher)
        try:
            while launcher.poll() is None and not came and not output.reader_gone:
                output.pass_on(_PAUSE_SECONDS)
            status = launcher.poll()
        finally:
            family.end(launcher, output.pass_on)
            output.finish()
        asked = came[0] if came else None
    if status is None:
        number = asked or signal.SIGPIPE
        reason = f"ended by {number.name}" if asked else "ended because nobody takes its output any more"
        return Ending(code=exit_code(-number), reason=f"{reason}, and every rank with it")
    if status == 0:
        return Ending(code=0, reason=None)
    reason = f"{what_ended_it(name, status, output.launchers_words)}; no rank runs any more"
    return Ending(code=exit_code(status), reason=reason)
