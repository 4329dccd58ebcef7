#!/bin/sh
# fuzz.sh BUILD RUNS: shares RUNS over the fuzz targets of BUILD; what they find is kept in build/fuzz-found.
set -eu
build=$1
targets=$(find "$build/fuzz" -type f -name '*_fuzz' 2>/dev/null | sort)
[ -n "$targets" ] || { echo "no fuzz targets"; exit 0; }
each=$(($2 / $(echo "$targets" | wc -l)))
for target in $targets; do
  name=$(basename "$target" _fuzz)
  grown="build/fuzz-corpus/$name"  # new inputs go here, not into the sources
  mkdir -p "$grown" build/fuzz-found
  given="fuzz/corpus/$name"
  [ -d "$given" ] || given=""
  runs=$each
  [ "$name" != marks ] || runs=$((each / 20 + 1))  # a whole sampler each time
  echo "fuzz $name: $runs runs"
  "$target" -runs="$runs" -max_len=65536 -timeout=10 -print_final_stats=0 -verbosity=0 \
    -artifact_prefix="build/fuzz-found/$name-" "$grown" $given
done
