"""What the sampler reads, by psutil's calls: psutil_poll.py PID RATE_HZ WARM_UP_S SECONDS.

Prints the CPU time a sample takes in us, and of a core in per cent.
"""

import contextlib
import sys
import time

import psutil


def sample(root: psutil.Process) -> None:
    psutil.cpu_percent(percpu=True)
    psutil.virtual_memory()
    psutil.disk_io_counters()
    psutil.net_io_counters()
    for process in (root, *root.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.cpu_times()
            process.memory_info()
            process.io_counters()


def poll(root: psutil.Process, period_s: float, seconds: float) -> tuple[float, float]:
    """On the sampler's kind of schedule: what was missed is left out."""
    count = 0
    begin_s, begin_cpu_s = time.monotonic(), time.process_time()
    next_s = begin_s
    while (now_s := time.monotonic()) < begin_s + seconds:
        if now_s < next_s:
            time.sleep(next_s - now_s)
        next_s += (max(time.monotonic() - next_s, 0) // period_s + 1) * period_s
        sample(root)
        count += 1
    cpu_s = time.process_time() - begin_cpu_s
    return cpu_s / count * 1e6, cpu_s / (time.monotonic() - begin_s) * 100


def main() -> None:
    root = psutil.Process(int(sys.argv[1]))
    rate_hz, warm_up_s, seconds = map(float, sys.argv[2:])
    poll(root, 1 / rate_hz, warm_up_s)
    print(*poll(root, 1 / rate_hz, seconds))


if __name__ == "__main__":
    main()
