"""A run that resumes with another number of ranks: it still sees every image of an epoch at most once."""

import json
from collections import Counter
from pathlib import Path

from tests.faults.life import EPOCHS, Fault, Life, expect

# Images that make no whole step at the end of an epoch: fewer than a step of two ranks of 32.
_LEFT_OVER = 64
_IMAGES = 1437


def killed_with(ranks: int, step: int) -> Fault:
    """Resume with this number of ranks, and kill rank zero."""

    def inject(life: Life) -> None:
        with life.run({"FAULTS_SEEN": str(_seen(life))}, ranks=ranks) as run:
            victim = run.rank(0)
            run.wait_for_step(step)
            victim.kill()
            expect(run.end() != 0, "the launcher ended with code 0")

    return Fault(kind="other number of ranks", what=f"{ranks}, killed after step {step}", inject=inject)


def finish(life: Life) -> None:
    """Finish with two ranks; of a killed start only the steps count after which the next one resumed."""
    end = life.finish({"FAULTS_SEEN": str(_seen(life))})
    expect(end.results["epochs"] == EPOCHS, f"it ended after {end.results['epochs']} epochs")
    firsts = [start.resumed_at or 0 for start in life.starts]
    seen: dict[int, Counter[int]] = {epoch: Counter() for epoch in range(EPOCHS)}
    for number, (first, last) in enumerate(zip(firsts, [*firsts[1:], end.state.step], strict=True), 1):
        for path in (life.folder / f"seen-{number}").iterdir():
            for *_, epoch, records in map(json.loads, path.read_text().splitlines()[: last - first]):
                seen[epoch].update(records)
    for epoch, counts in seen.items():
        twice = [record for record, count in counts.items() if count > 1]
        expect(not twice, f"epoch {epoch + 1} saw {len(twice)} images more than once")
        expect(len(counts) > _IMAGES - _LEFT_OVER, f"epoch {epoch + 1} saw {len(counts)} of {_IMAGES} images")


def _seen(life: Life) -> Path:
    folder = life.folder / f"seen-{len(life.starts) + 1}"
    folder.mkdir()
    return folder
