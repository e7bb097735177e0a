#!/bin/sh
# The number of compile jobs: one per core, at most one per 2 GB of free memory.
cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
memory=$(awk '/^MemAvailable/ {print int($2 / 2000000)}' /proc/meminfo 2>/dev/null)
[ -n "$memory" ] || memory=$cores
[ "$memory" -ge 1 ] || memory=1
[ "$memory" -lt "$cores" ] && cores=$memory
echo "$cores"
