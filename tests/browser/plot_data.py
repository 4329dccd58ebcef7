"""Made-up data of a plot: what %jumper plot gives to its page (docs/formats.md)."""

import itertools
import math
import random

HOUR_S = 3600.0
BUCKETS = 600
GAP = (1500.0, 1560.0)
CAPACITY_BYTES = 16 * 2**30


def _tracks(names, value, edges, spread):
    """Mean, smallest and largest of each bucket; None in the gap."""
    tracks = []
    for k, name in enumerate(names):
        track = {"name": name, "min": [], "max": [], "mean": []}
        for begin, end in itertools.pairwise(edges):
            hidden = begin < GAP[1] and end > GAP[0]
            mean = None if hidden else value(k, (begin + end) / 2)
            near = 0 if hidden else spread * mean * random.Random(begin + k).random()
            track["mean"].append(mean and float(f"{mean:.5g}"))
            track["min"].append(None if hidden else float(f"{mean - near:.5g}"))
            track["max"].append(None if hidden else float(f"{mean + near:.5g}"))
        tracks.append(track)
    return tracks


def _busy(cells, time):
    return any(begin <= time < end for begin, end in cells)


def plot(
    *, cells=((120.0, 1700.0), (1900.0, 3300.0)), cores=16, span_s=HOUR_S, code="x = solve(A, b)"
):
    """Two cells, 16 cores, an hour at 10 Hz with a minute that nobody measured."""
    edges = [round(span_s * i / BUCKETS, 3) for i in range(BUCKETS + 1)]
    noise = random.Random(1)

    def cpu(_, time):
        return (55 + 25 * math.sin(time / 90)) if _busy(cells, time) else 1 + noise.random()

    def core(k, time):
        if not _busy(cells, time):
            return noise.random() * 3
        return 95 + 4 * noise.random() if k < cores * cpu(0, time) / 100 else 5 * noise.random()

    def memory(_, time):
        return 0.4e9 + (7e9 * (time % 1700) / 1700 if _busy(cells, time) else 0)

    def io(k, time):
        return (k + 1) * 40e6 * max(0, math.sin(time / 37)) + 1e3 if _busy(cells, time) else 1e3

    percent = {"lines": [{"label": "capacity", "value": 100.0}], "max": 100.0}
    node = {**percent, "tracks": _tracks(["CPU"], cpu, edges, 0.2)}
    per_core = _tracks([f"core {k}" for k in range(cores)], core, edges, 0)
    for track in per_core:
        del track["min"], track["max"]
    capacity = [{"label": "capacity", "value": CAPACITY_BYTES}]
    return {
        "version": 1,
        "label": "analysis.ipynb",
        "host": "node07",
        "begin_wall_s": 1795964060.123,
        "level": "process",
        "levels": ["process", "node"],
        "shown": ["cpu", "memory", "io"],
        "edges_s": edges,
        "cells": [
            {
                "index": i + 1,
                "execution_count": i + 1,
                "label": f"In [{i + 1}]",
                "begin_s": begin,
                "end_s": end,
                "outcome": "error" if i == 1 else "ok",
                "code": code,
            }
            for i, (begin, end) in enumerate(cells)
        ],
        "gaps": [{"begin_s": GAP[0], "end_s": GAP[1], "reason": "the sampler was stopped"}],
        "metrics": [
            {
                "id": "cpu",
                "title": "CPU",
                "unit": "%",
                "note": f"of {cores} cores",
                "panels": {"process": {**percent, "tracks": node["tracks"]}, "node": node},
            },
            {
                "id": "cpu_cores",
                "title": "CPU per core",
                "unit": "%",
                "panels": {"node": {"max": 100.0, "tracks": per_core}},
            },
            {
                "id": "memory",
                "title": "Memory",
                "unit": "B",
                "panels": {
                    "process": {
                        "lines": capacity,
                        "tracks": _tracks(["Memory"], memory, edges, 0.05),
                    }
                },
            },
            {
                "id": "io",
                "title": "I/O",
                "unit": "B/s",
                "panels": {"process": {"tracks": _tracks(["read", "written"], io, edges, 0.3)}},
            },
        ],
    }
