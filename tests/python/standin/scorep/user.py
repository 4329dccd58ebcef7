"""Regions that the user names."""

from . import instrumenter


def region_begin(name, file_name=None, line_number=None):
    with instrumenter.disable():
        instrumenter.get_instrumenter().region_begin("user", name, file_name, line_number)


def region_end(name):
    instrumenter.get_instrumenter().region_end("user", name)
