"""`python run.py NAME [RATE]`: one workload as one cell of a session; without RATE unmeasured.

Prints what is true and what jumper says.
"""

import json
import sys

import cpu_workloads
import io_workloads
import memory_workloads


def workload(name: str):
    for module in (cpu_workloads, io_workloads, memory_workloads):
        if hasattr(module, name):
            return getattr(module, name)()
    raise KeyError(name)


def main(name: str, rate: str | None = None) -> None:
    steps = workload(name)
    if rate is None:
        next(steps)
        found = {"truth": next(steps)}
    else:
        import jumper

        with jumper.session(rate=float(rate)) as session:
            next(steps)
            with session.cell("nothing") as ready:  # the sampler is up before the cell begins
                pass
            session.native.wait(ready.index, 20)
            memory_workloads.session = session
            with session.cell(name) as cell:
                truth = next(steps)
            session.native.wait(cell.index, 20)
            said = json.loads(cell.summary("all").json)
            found = {"truth": truth, "said": said, "path": session.path}
    for _ in steps:
        raise AssertionError("two yields at most")
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
