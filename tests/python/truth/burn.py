"""`python burn.py SECONDS`: uses so much CPU time; then execs itself with a second word."""

import os
import sys
import time


def main(seconds: float, after_exec: str | None = None) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(500))
    if after_exec:
        os.execv(sys.executable, [sys.executable, "-S", __file__, after_exec])


if __name__ == "__main__":
    main(float(sys.argv[1]), *sys.argv[2:])
