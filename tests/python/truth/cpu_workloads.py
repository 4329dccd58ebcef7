"""CPU time with a known truth. Each: what is before the cell, `yield`, the cell, `yield truth`."""

import hashlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time

from children import BURN, Child, await_that, burn, clock_s, in_thread, own_cpu_s, run_python


def truth(begin_s: float, *alive: Child) -> dict[str, float]:
    """What this process and those that it has waited for gained, and what living ones say."""
    return {"cpu_time_s": own_cpu_s() - begin_s + sum(child.cpu_now_s() for child in alive)}


def one_process():
    yield
    begin = own_cpu_s()
    burn(0.6)
    yield truth(begin)


def many_threads():
    """They run at the same time: hashing lets go of the interpreter."""
    data = bytes(1 << 20)

    def work() -> None:
        end = time.thread_time() + 0.15
        while time.thread_time() < end:
            hashlib.sha256(data).digest()

    yield
    begin = own_cpu_s()
    for thread in [in_thread(work) for _ in range(8)]:
        thread.join()
    yield truth(begin)


def _pool(kind: str):
    yield
    begin = own_cpu_s()
    pool = multiprocessing.get_context(kind).Pool(3)
    pool.map(burn, [0.2] * 5)
    pool.close()
    pool.join()
    yield truth(begin)


def pool_fork():
    yield from _pool("fork")


def _with_tracker(found: dict[str, float]) -> dict[str, float]:
    """Such pools have a process beside them that watches over their resources, and stays."""
    from multiprocessing.resource_tracker import _resource_tracker

    return {"cpu_time_s": found["cpu_time_s"] + clock_s(_resource_tracker._pid)}


def pool_spawn():
    steps = _pool("spawn")
    yield next(steps)
    yield _with_tracker(next(steps))


def pool_forkserver():
    """The server waits for the workers, and is waited for when it has been told to end."""
    from multiprocessing.forkserver import _forkserver

    yield
    begin = own_cpu_s()
    with multiprocessing.get_context("forkserver").Pool(2) as pool:
        pool.map(burn, [0.2] * 4)
        pool.close()
        pool.join()
    _forkserver._stop()
    yield _with_tracker(truth(begin))


def children_between_ticks():
    """Case 3: at one tick a second, none of the children lives for two."""
    yield
    begin = own_cpu_s()
    for _ in range(20):
        subprocess.run([sys.executable, "-c", "sum(i*i for i in range(600_000))"], check=True)
    yield truth(begin)


def children_of_a_thread():
    alive = []

    def work() -> None:
        run_python(0.2)
        alive.append(Child(lambda: burn(0.3)))
        alive[0].hear()

    yield
    begin = own_cpu_s()
    in_thread(work).join()
    yield truth(begin, *alive)
    alive[0].end()


def children_of_a_living_thread():
    """The parent thread lives on (its children stand in its own list), and isn't the first one."""
    alive = []
    gate = os.pipe()

    def work() -> None:
        alive.append(Child(lambda: burn(0.4)))
        os.read(gate[0], 1)

    yield
    begin = own_cpu_s()
    thread = in_thread(work)
    await_that(lambda: alive)
    alive[0].hear()
    yield truth(begin, *alive)
    os.write(gate[1], b"x")
    thread.join()
    alive[0].end()


def grandchildren():
    """Waited for by a child that lives on. The kernel's clocks count theirs in steps of 10 ms."""

    def work() -> None:
        for grandchild in [Child(lambda: burn(0.5)) for _ in range(4)]:
            grandchild.hear()
            grandchild.end()

    yield
    begin = own_cpu_s()
    child = Child(work)
    child.hear()
    yield truth(begin, child)
    child.end()


def grandchildren_of_ended_children():
    yield
    begin = own_cpu_s()
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-S', {BURN!r}, '0.2'])"
    for _ in range(3):
        subprocess.run([sys.executable, "-S", "-c", program], check=True)
    yield truth(begin)


def _orphans_running(middle_s: float):
    yield
    begin = own_cpu_s()
    orphans = [Child(lambda: burn(0.3), orphan_after_s=middle_s) for _ in range(2)]
    for orphan in orphans:
        orphan.hear()
    time.sleep(1.2)  # the full look, once a second
    yield truth(begin, *orphans)
    for orphan in orphans:
        orphan.end()


def orphans_running():
    """A tick has seen who their parents were."""
    yield from _orphans_running(0.3)


def orphans_at_once():
    """No tick can have seen whose they are; only the session tells it."""
    yield from _orphans_running(0)


def orphans_ended():
    """Nobody of the tree waits for them; what they use they use as orphans."""

    def work() -> None:
        parent = os.getppid()
        await_that(lambda: os.getppid() != parent)
        burn(0.4)

    yield
    begin = own_cpu_s()
    orphans = [Child(work, orphan_after_s=0.6) for _ in range(2)]
    for orphan in orphans:
        orphan.hear()
        orphan.let_go()
    await_that(lambda: all(orphan.gone() for orphan in orphans))
    time.sleep(0.6)  # a tick that sees the tree without them
    yield truth(begin, *orphans)


def sigchld_ignored():
    """The kernel throws away what such children used."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    begin = own_cpu_s()
    children = [Child(lambda: burn(0.4)) for _ in range(2)]
    for child in children:
        child.hear()
        child.let_go()
    await_that(lambda: all(child.gone() for child in children))
    time.sleep(0.6)
    yield truth(begin, *children)


def exec_in_a_child():
    yield
    begin = own_cpu_s()
    subprocess.run([sys.executable, "-S", BURN, "0.3", "0.3"], check=True)
    yield truth(begin)


def exec_of_what_forks():
    """A shell that starts children of its own, two at once, and waits for them."""
    yield
    begin = own_cpu_s()
    command = f"'{sys.executable}' -S '{BURN}' 0.25"
    subprocess.run(["sh", "-c", f'exec sh -c "{command} & {command} & wait"'], check=True)
    yield truth(begin)


def killed_child():
    yield
    begin = own_cpu_s()
    child = Child(lambda: burn(0.4))
    child.hear()
    time.sleep(0.15)
    os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    time.sleep(0.25)
    yield truth(begin)


def killed_middle():
    """Its child lives on with another parent, and stays in the tree."""
    pids = os.pipe()

    def work() -> None:
        grandchild = Child(lambda: burn(0.3))
        os.write(pids[1], b"%20d" % grandchild.pid)
        burn(0.2)
        grandchild.hear()
        os.write(pids[1], b"%20f" % grandchild.cpu_s)

    yield
    begin = own_cpu_s()
    middle = Child(work)
    middle.hear()
    grandchild = int(os.read(pids[0], 20))
    cpu_s = float(os.read(pids[0], 20))
    time.sleep(0.15)  # a tick
    os.kill(middle.pid, signal.SIGKILL)
    os.waitpid(middle.pid, 0)
    time.sleep(0.25)
    found = truth(begin)
    yield {"cpu_time_s": found["cpu_time_s"] + cpu_s}
    os.kill(grandchild, signal.SIGKILL)


def other_session_and_user():
    """`setsid`, and another user where we may (P10)."""

    def work() -> None:
        os.setsid()
        if os.geteuid() == 0:
            os.setuid(65534)
        burn(0.4)

    yield
    begin = own_cpu_s()
    child = Child(work)
    child.hear()
    yield truth(begin, child)
    child.end()


def many_at_once():
    """Above twenty processes the tree is found in another way."""
    yield
    begin = own_cpu_s()
    children = [Child(lambda: burn(0.03)) for _ in range(40)]
    for child in children:
        child.hear()
    for child in children[::2]:
        child.end()
    yield truth(begin, *children[1::2])
    for child in children[1::2]:
        child.end()


def chain():
    """A tree of depth 30 (P7): each waits for its only child."""

    def work(depth: int) -> None:
        burn(0.02)
        if depth:
            child = Child(lambda: work(depth - 1))
            child.hear()
            child.end()

    yield
    begin = own_cpu_s()
    work(30)
    yield truth(begin)


def before_the_cell():
    """What was used before the cell belongs to nobody, what goes on in it is counted from there."""
    burn(0.3)
    child = Child(lambda: burn(0.2))
    child.hear()
    run_python(0.2)
    yield
    begin = own_cpu_s()
    burn(0.3)
    yield truth(begin)
    burn(0.2)
    child.end()


def nothing():
    yield
    begin = own_cpu_s()
    time.sleep(0.7)
    yield truth(begin)
