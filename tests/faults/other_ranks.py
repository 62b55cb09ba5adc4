"""A run that goes on with another number of ranks: it sees every image of an epoch at most once all the same."""

import json
from collections import Counter
from pathlib import Path

from tests.faults.life import EPOCHS, Fault, Life, expect

# Images that make no whole step at the end of an epoch, whoever trains it: less than a step of two ranks of 32.
_LEFT_OVER = 64
_IMAGES = 1437


def killed_with(ranks: int, step: int) -> Fault:
    """Goes on with so many ranks, and kills the first of them."""

    def inject(life: Life) -> None:
        with life.run(ranks, FAULTS_SEEN=str(_seen(life))) as run:
            victim = run.rank(0)
            run.wait_for_step(step)
            victim.kill()
            expect(run.end() != 0, "the launcher says that all is well")

    return Fault(kind="other number of ranks", what=f"{ranks}, killed after step {step}", inject=inject)


def finish(life: Life) -> None:
    """Finishes with two ranks; of what a killed start has seen, only that counts after which the next one went on."""
    end = life.finish(FAULTS_SEEN=str(_seen(life)))
    expect(end.results["epochs"] == EPOCHS, f"it ended after {end.results['epochs']} epochs")
    firsts = [start.resumed_at for start in life.starts]
    seen: dict[int, Counter[int]] = {epoch: Counter() for epoch in range(EPOCHS)}
    for number, (first, last) in enumerate(zip(firsts, [*firsts[1:], end.state.step], strict=True), 1):
        for path in (life.folder / f"seen-{number}").iterdir():
            for epoch, records in map(json.loads, path.read_text().splitlines()[: last - first]):
                seen[epoch].update(records)
    for epoch, counts in seen.items():
        twice = [record for record, count in counts.items() if count > 1]
        expect(not twice, f"epoch {epoch + 1} saw {len(twice)} images more than once")
        expect(len(counts) > _IMAGES - _LEFT_OVER, f"epoch {epoch + 1} saw {len(counts)} of {_IMAGES} images")


def _seen(life: Life) -> Path:
    folder = life.folder / f"seen-{len(life.starts) + 1}"
    folder.mkdir()
    return folder
