#!/bin/sh
# The number of compile jobs: one per core, at most one per 2 GB of the memory that is free or that the
# container may have.
cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
memory=$(awk '/^MemAvailable/ {print int($2 / 2000000)}' /proc/meminfo 2>/dev/null)
[ -n "$memory" ] || memory=$cores
for file in /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes; do
  limit=$(awk '/^[0-9]+$/ && $1 < 1e15 {print int($1 / 2e9)}' "$file" 2>/dev/null)
  [ -n "$limit" ] && [ "$limit" -lt "$memory" ] && memory=$limit
done
[ "$memory" -ge 1 ] || memory=1
[ "$memory" -lt "$cores" ] && cores=$memory
echo "$cores"
