#!/bin/sh
# make_venv.sh FOLDER [VERSION]: a virtual environment of that CPython version, or of any >= 3.11.
set -eu
here=$(dirname "$0")
version=${2:-any}
python=$("$here/find_python.sh" "$version" || true)
if [ -z "$python" ] && [ "$version" = any ]; then
  "$here/need_packages.sh" "$here/apt-packages-python.txt"
  python=$("$here/find_python.sh" any || true)
fi
if [ -z "$python" ]; then
  echo "jumper: no CPython $version with its headers and venv was found (3.11 or newer is needed);" \
    "install one or name it: make PYTHON=/path/to/python3" >&2
  exit 1
fi
rm -rf "$1"
exec "$python" -m venv "$1"
