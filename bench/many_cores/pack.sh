#!/usr/bin/env bash
# Makes one archive that run.sh needs on a machine without network and packages:
#   bench/many_cores/pack.sh [--build FOLDER] [--python FILE]... [--out FILE]
# The products with every library that a bare system may lack, beside them in build/deps, where
# their own search path points (patchelf); bench; and for each --python a bridge to its PyTorch, for
# machines without a C++ compiler.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build
out=many_cores.tar.gz
pythons=()
readonly most=$((64 * 1024 * 1024))
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$(cd -- "$2" && pwd) ;;
    --python) pythons+=("$2") ;;
    --out) out=$2 ;;
    *) echo "pack.sh: what is $1? [--build FOLDER] [--python FILE]... [--out FILE]" >&2 && exit 2 ;;
  esac
  shift 2
done
command -v patchelf >/dev/null || { echo "pack.sh: install patchelf" >&2 && exit 1; }

tree=$(mktemp -d)
trap 'rm -rf -- "$tree"' EXIT
pack=$tree/optile-many-cores
mkdir -p "$pack"/build/{bin,lib,deps} "$pack/bench"
cp -- "$build"/bin/optile{,d,-tool} "$pack/build/bin"
cp -- "$build"/lib/liboptile_{preload,torch_bridge,admission,counters,itt}.so "$pack/build/lib"
strip --strip-debug "$pack"/build/bin/* "$pack"/build/lib/*

# The C library comes from the machine; everything else travels. What is linked statically needs
# nothing, and patchelf would break it.
linked=()
for file in "$pack"/build/bin/* "$pack/build/lib/liboptile_counters.so"; do
  if readelf -d "$file" | grep -q NEEDED; then linked+=("$file"); fi
done
needed() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -Ev '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so'
}
while IFS= read -r library; do
  cp -L -- "$library" "$pack/build/deps"
done < <(needed "${linked[@]}")
patchelf --force-rpath --set-rpath "\$ORIGIN/../deps" "${linked[@]}"
patchelf --force-rpath --set-rpath "\$ORIGIN" "$pack"/build/deps/*
for file in "$pack"/build/bin/*; do
  "$file" --version >/dev/null || { echo "pack.sh: the packed $file does not start" >&2 && exit 1; }
done

cp -r -- "$root"/bench/*.py "$root/bench/workloads" "$root/bench/many_cores" "$pack/bench"
find "$pack/bench" -name __pycache__ -prune -exec rm -rf {} +

for python in "${pythons[@]}"; do
  cache=$tree/cache
  mkdir -m 700 -p "$cache"
  XDG_CACHE_HOME=$cache "$build/bin/optile" bridge build --python "$python"
  mkdir -p "$pack/bridges"
  cp -- "$cache"/optile/bridges/torch-*.so "$cache"/optile/bridges/torch-*.sha256 "$pack/bridges"
done

tar -C "$tree" --owner=0 --group=0 -czf "$out" "$(basename "$pack")"
size=$(stat -c %s "$out")
[ "$size" -le "$most" ] || { echo "pack.sh: $out has $size bytes, more than 64 MiB" >&2 && exit 1; }
printf '%s: %d KiB\n' "$out" $((size / 1024))
printf 'there: tar -xzf %s && optile-many-cores/bench/many_cores/run.sh\n' "$(basename "$out")"
