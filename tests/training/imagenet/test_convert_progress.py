import io

from training.imagenet.convert.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_a_line_every_half_minute() -> None:
    now, log = [100.0], io.StringIO()
    progress = Progress(500, 2000, log, clock=lambda: now[0])
    progress.add(100)
    assert log.getvalue() == ""
    now[0] = 130.0
    progress.add(200)
    progress.add(100)
    # 300 images in 30 s of this run; 1,200 are left then.
    assert log.getvalue() == "[############..................] 800/2,000 images, 10 images/s, 2.0 minutes left\n"
    now[0] = 200.0
    progress.end()
    assert log.getvalue().splitlines()[1:] == [
        "[##############................] 900/2,000 images, 4 images/s, 4.6 minutes left"
    ]


def test_a_terminal_gets_a_bar_that_is_rewritten() -> None:
    now, terminal = [0.0], Terminal()
    progress = Progress(0, 10, terminal, clock=lambda: now[0])
    now[0] = 1.0
    progress.add(5)
    progress.add(5)
    progress.end()
    assert terminal.getvalue() == (
        "\r[###############...............] 5/10 images, 5 images/s, 0.0 minutes left\x1b[K"
        "\r[##############################] 10/10 images, 10 images/s, 0.0 minutes left\x1b[K\n"
    )


def test_before_the_first_image() -> None:
    progress = Progress(0, 10, io.StringIO(), clock=lambda: 0.0)
    assert progress.line() == "[..............................] 0/10 images, 0 images/s, no image yet"
