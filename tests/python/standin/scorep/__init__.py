"""A stand-in for Score-P's Python bindings, of the tests only.

It does what matters to whoever starts a script under the real ones: they compile a library and
execute themselves again with it preloaded; the first word that is no option is the script, `--`
goes to scorep-config, which refuses it; `sys.path[0]` becomes the script's folder; descriptors stay
open; an experiment directory is there from the begin, its anchors come when the interpreter ends.

Told by the environment:
    STANDIN_LOG       file of JSON lines: what it saw (see `log`)
    STANDIN_LIBRARY   the library to preload (made from library.cpp)
    STANDIN_DOES      words: late torso nothing memory memory-at-end fails keeps-preload
    STANDIN_GATE      `late`: the anchors come once this file is there
"""
