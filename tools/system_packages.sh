#!/usr/bin/env bash
# Packages of the tests and benchmarks that PyPI does not have: Catch2, Google Benchmark, a second compiler,
# ZeroMQ for C++ and a browser.
# Installs what is missing with apt where that is possible; otherwise says what is missing and what
# will be skipped for it. Never fails: without these packages everything else still works.
# Argument `all`: large packages too: ROS 1, and compilers and emulators of AArch64 and of a Cortex-M4F.
set -uo pipefail

has_header() { # in the compiler's path, or in a prefix that the user points CMake to
  local prefix
  echo "#include <$1>" | "${CXX:-c++}" -x c++ -E - >/dev/null 2>&1 && return 0
  for prefix in $(tr ':;' '  ' <<<"${CMAKE_PREFIX_PATH:-}"); do
    [ -e "$prefix/include/$1" ] && return 0
  done
  return 1
}
has_clang() { compgen -c clang++ | grep -qE '^clang\+\+(-[0-9]+)?$'; }
has_catch2() { has_header catch2/catch.hpp || has_header catch2/catch_all.hpp; }
has_benchmark() { has_header benchmark/benchmark.h; }
has_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null
has_zmq() { has_header zmq.h && has_header zmq.hpp; }

has_ros() {
  command -v roscore >/dev/null && /usr/bin/python3 -c "import nav_msgs, sensor_msgs, tf2_msgs" 2>/dev/null
}
has_board() { command -v arm-none-eabi-gcc && command -v qemu-system-arm; } >/dev/null
has_aarch64() { [ "$(uname -m)" = aarch64 ] || { command -v aarch64-linux-gnu-g++ && command -v qemu-aarch64; } >/dev/null; }
large=${1:-}

missing() {
  [ "$large" != all ] || has_ros || echo ros-core python3-nav-msgs python3-sensor-msgs python3-tf2-msgs
  [ "$large" != all ] || has_board || echo gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm
  [ "$large" != all ] || has_aarch64 || echo g++-aarch64-linux-gnu qemu-user
  has_catch2 || echo catch2
  has_benchmark || echo libbenchmark-dev
  has_clang || echo clang
  has_zmq || echo cppzmq-dev
  has_chromium || echo chromium
}
consequence() {
  case $1 in
    catch2) echo "Catch2 (Debian: catch2): CMake tries to download it; without, the C++ tests are skipped" ;;
    libbenchmark-dev) echo "Google Benchmark (Debian: libbenchmark-dev): make bench cannot run" ;;
    g++-aarch64-linux-gnu | qemu-user) echo "$1 (Debian): nothing is tested for AArch64" ;;
    clang) echo "clang++ (Debian: clang): headers are checked with one compiler only" ;;
    chromium) echo "Chromium (Debian: chromium): the equations of the site and the page of the arcade are not tested in a browser" ;;
    ros-core | python3-*-msgs) echo "ROS 1 (Debian: $1): the ROS node is not tested with a real master" ;;
    *arm*) echo "the cross compiler and emulator (Debian: $1): exported policies are not run on a Cortex-M4F" ;;
    cppzmq-dev) echo "cppzmq and libzmq (Debian: cppzmq-dev): the C++ render client is not tested" ;;
  esac
}

packages=$(missing)
[ -n "$packages" ] || exit 0

root=()
can_install=no
if [ "${SYSTEM_PACKAGES:-yes}" != no ] && command -v apt-get >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ]; then
    can_install=yes
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    can_install=yes
    root=(sudo -n)
  fi
fi
if [ "$can_install" = yes ]; then
  echo "make: installing with apt:" $packages
  log=$(mktemp)
  apt=(timeout 300 "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
  # each package by itself, so that one without a candidate does not stop the others
  "${apt[@]}" update >"$log" 2>&1
  for package in $packages; do
    "${apt[@]}" install --no-install-recommends "$package" >>"$log" 2>&1 ||
      { echo "make: apt could not install $package:"; tail -n 2 "$log"; }
  done
  rm -f "$log"
fi

for package in $(missing); do
  echo "make: missing: $(consequence "$package")"
done
exit 0
