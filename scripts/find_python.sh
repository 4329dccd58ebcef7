#!/bin/sh
# Prints the path of a CPython for virtual environments: `find_python.sh` any >= 3.11 (PYTHON first, then
# python3, then the newest), `find_python.sh 3.12` that very version. Looks on PATH and into pyenv.
# `find_python.sh --others VENV` prints the tested versions found besides VENV's own, one a line.
# Prints nothing and fails where there is none.
tested="3.13 3.12 3.11"

# usable PYTHON VERSION: runs it, since pyenv's shims exist even for versions that aren't selected.
usable() {
  "$1" -c '
import sys, sysconfig, os
import ensurepip, venv
assert sys.implementation.name == "cpython" and sys.version_info >= (3, 11)
assert sys.argv[1] in ("any", "%d.%d" % sys.version_info[:2])
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
print(os.path.realpath(sys.executable) if "shims" in sys.executable else sys.executable)
' "$2" 2>/dev/null
}

find_version() {
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
    usable "$candidate" "$1" && return 0
  done
  return 1
}

case "${1:-any}" in
  --others)
    own=$("$2/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    for version in $tested; do
      if [ "$version" != "$own" ] && find_version "$version" >/dev/null; then
        echo "$version"
      fi
    done
    exit 0
    ;;
  any)
    for candidate in ${PYTHON:-} python3; do
      usable "$candidate" any && exit 0
    done
    for version in $tested; do
      find_version "$version" && exit 0
    done
    exit 1
    ;;
  *) find_version "$1" ;;
esac
