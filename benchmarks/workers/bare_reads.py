"""The files of a tick of a tree of one, read and thrown away: bare_reads.py PID RATE_HZ SECONDS.

What they cost at the same rate, caches as cold: most of it is the system's work of writing them,
and no sampler that reads them can cost less. Prints the median CPU time
of a round, and of going to sleep and waking up, in us.
"""

import os
import statistics
import sys
import time

NODE = ("stat", "vmstat", "meminfo", "loadavg")
PROCESS = ("stat", "io")


def main() -> None:
    pid, rate_hz, seconds = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    paths = [f"/proc/{name}" for name in NODE] + [f"/proc/{pid}/{name}" for name in PROCESS]
    files = [os.open(path, os.O_RDONLY) for path in paths]
    spent, waking = [], []
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        asleep_ns = time.thread_time_ns()
        time.sleep(1 / rate_hz)
        begin_ns = time.thread_time_ns()
        waking.append((begin_ns - asleep_ns) / 1e3)
        for file in files:
            os.pread(file, 32768, 0)
        spent.append((time.thread_time_ns() - begin_ns) / 1e3)
    print(statistics.median(spent), statistics.median(waking))


if __name__ == "__main__":
    main()
