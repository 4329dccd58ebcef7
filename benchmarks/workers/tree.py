"""A process tree of N, to be measured: tree.py N busy|idle.

Each line of stdin is a rate in Hz, how long to warm up and how long to record, in seconds; the
answer is a line of JSON. Without commands it just lives, until stdin ends. A busy process runs for
some 20 us every 80 ms, so that it has always run since the last sample at 10 Hz. The root stands
for the kernel: it is always busy, and has ipykernel in its memory.
"""

import importlib
import json
import os
import select
import sys
import time
from pathlib import Path

BUSY_S = 0.04  # every wish to sleep is a little late: twice in a period is always once at least


def child(alive: int, is_busy: bool) -> None:
    while not select.select([alive], [], [], BUSY_S * 2 if is_busy else None)[0]:
        pass
    os._exit(0)


def sleep_until(end_s: float) -> None:
    while time.monotonic() < end_s:
        time.sleep(BUSY_S)


def memory_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def threads_ns(pid: int) -> list[int]:
    """CPU time of each thread, oldest first: Documentation/scheduler/sched-stats.rst."""
    folder = Path(f"/proc/{pid}/task")
    threads = sorted(int(path.name) for path in folder.iterdir())
    return [int((folder / str(tid) / "schedstat").read_text().split()[0]) for tid in threads]


def record(rate_hz: float, warm_up_s: float, record_s: float) -> dict[str, object]:
    """Records this tree for a while; the CPU clock of the sampler is read from here, too."""
    import jumper

    # clock_getcpuclockid(3)
    clock_ns = lambda pid: time.clock_gettime_ns((~pid << 3) | 2)  # noqa: E731
    with jumper.session(label="benchmark", rate=rate_hz) as session:
        sampler = session.native.status().sampler_pid
        if sampler is None:
            raise SystemExit(f"no sampler runs: {session.native.status().lost}")
        sleep_until(time.monotonic() + warm_up_s)
        threads = threads_ns(sampler)
        begin_ns, begin_cpu_ns = time.monotonic_ns(), clock_ns(sampler)
        sleep_until(time.monotonic() + record_s)
        end_ns, end_cpu_ns = time.monotonic_ns(), clock_ns(sampler)
        return {
            "path": session.path,
            "begin_ns": begin_ns,
            "end_ns": end_ns,
            "outside_cpu_ns": end_cpu_ns - begin_cpu_ns,
            "threads_ns": [
                after - before for before, after in zip(threads, threads_ns(sampler), strict=True)
            ],
            "memory_kb": memory_kb(sampler),
        }


def main() -> None:
    count, is_busy = int(sys.argv[1]), sys.argv[2] == "busy"
    alive, hold = os.pipe()
    for _ in range(count - 1):
        if os.fork() == 0:
            os.close(hold)
            child(alive, is_busy)
    importlib.import_module("ipykernel.kernelapp")
    print("ready", flush=True)
    unread = b""
    while True:
        if not select.select([0], [], [], BUSY_S)[0]:
            continue
        bytes_read = os.read(0, 4096)
        if not bytes_read:
            break
        unread += bytes_read
        while b"\n" in unread:
            line, unread = unread.split(b"\n", 1)
            print(json.dumps(record(*map(float, line.split()))), flush=True)


if __name__ == "__main__":
    main()
