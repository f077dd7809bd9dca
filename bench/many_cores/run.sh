#!/bin/sh
# One measurement of a machine with many cores:
#   bench/many_cores/run.sh [--python FILE] [--seconds N | --quick] [--out FOLDER]
#   bench/many_cores/run.sh everyday [--python FILE] [--seconds N] [--out FOLDER] [PROGRAM]...
# Needs Python 3.9 or later and its PyTorch, nothing of Debian's and no network; works in a built
# checkout and in what pack.sh made of one.
set -eu
here=$(cd -- "$(dirname -- "$0")" && pwd)
root=$(cd -- "$here/../.." && pwd)

script=measure.py
if [ "${1:-}" = everyday ]; then
  script=everyday.py
  shift
fi

# The first Python of PATH that has PyTorch, unless one is named.
python=
previous=
for word in "$@"; do
  [ "$previous" != --python ] || python=$word
  previous=$word
done
for candidate in python3 python python3.12; do
  [ -z "$python" ] || break
  if "$candidate" -c 'import torch' 2>/dev/null; then python=$(command -v "$candidate"); fi
done
if [ -z "$python" ]; then
  echo "run.sh: no Python here has PyTorch: name one with --python" >&2
  exit 1
fi

# Bridges to PyTorch: a cache of this measurement's own, with those that were packed.
XDG_CACHE_HOME=${XDG_CACHE_HOME:-$(mktemp -d)}
export XDG_CACHE_HOME
if [ -d "$root/bridges" ]; then
  (umask 077 && mkdir -p "$XDG_CACHE_HOME/optile/bridges")
  for file in "$root"/bridges/*; do
    target=$XDG_CACHE_HOME/optile/bridges/$(basename -- "$file")
    [ -e "$target" ] || install -m 600 -- "$file" "$target"
  done
fi
exec "$python" "$here/$script" "$@"
