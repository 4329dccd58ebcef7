#!/bin/sh
# need_packages.sh LIST: installs what is missing of a list of Debian packages when we are root; else names
# what is missing and fails. On systems without dpkg it only checks the compiler's side and trusts the rest:
# CMake names a library that isn't there.
set -eu
list=$1
wanted=$(grep -v '^#' "$list")

if ! command -v dpkg-query >/dev/null; then
  case "$list" in *apt-packages.txt) tools="g++ cmake ninja" ;; *) tools="" ;; esac
  for tool in $tools; do
    command -v "$tool" >/dev/null || {
      echo "jumper: '$tool' is missing; install what corresponds to these Debian packages:" $wanted >&2
      exit 1
    }
  done
  exit 0
fi

missing=""
for package in $wanted; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
  echo "jumper: these system packages are missing; install them first: sudo apt-get install$missing" >&2
  exit 1
fi
echo "installing system packages:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends $missing >/dev/null
