/* Preloaded into Betaflight's simulator build: its monotonic clock is the simulated time.

   The file PROPWASH_CLOCK is shared with the simulation. The main thread moves time on: by its
   sleeps, which take no real time, and by 1 us for each reading of the clock. It waits at the limit;
   and it waits at the last limit until the program has processed all state packets that were sent,
   so that it computes its answer from the newest one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STATE_PACKET = 144 }; /* bytes */

struct page {
  _Atomic uint64_t limit, last_limit; /* ns, written by the simulation */
  _Atomic uint64_t sent;              /* state packets, written by the simulation */
  _Atomic uint64_t now;               /* ns */
  _Atomic uint64_t processed;         /* state packets */
};

static struct page* page;
static _Thread_local int has_state_packet;

__attribute__((constructor)) static void open_clock(void) {
  const char* path = getenv("PROPWASH_CLOCK");
  const int file = path == NULL ? -1 : open(path, O_RDWR);
  if (file < 0) return;
  void* memory = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) page = memory;
}

static void real_sleep(void) {
  const struct timespec interval = {0, 20000};
  syscall(SYS_nanosleep, &interval, NULL);
}

static int is_main_thread(void) {
  static _Thread_local int known;
  if (known == 0) known = syscall(SYS_gettid) == getpid() ? 1 : 2;
  return known == 1;
}

/* Moves time on by up to `ns`; returns what the limit has left of it. */
static uint64_t advance(uint64_t ns) {
  uint64_t limit = page->limit; /* read first, written last */
  if (page->processed < page->sent) limit = page->last_limit;
  const uint64_t now = page->now;
  const uint64_t step = limit <= now ? 0 : (limit - now < ns ? limit - now : ns);
  page->now = now + step;
  return ns - step;
}

int clock_gettime(clockid_t id, struct timespec* time) {
  if (page == NULL || id != CLOCK_MONOTONIC) return (int)syscall(SYS_clock_gettime, id, time);
  if (is_main_thread() && advance(1000) == 1000) real_sleep();
  const uint64_t now = page->now;
  time->tv_sec = (time_t)(now / 1000000000u);
  time->tv_nsec = (long)(now % 1000000000u);
  return 0;
}

int nanosleep(const struct timespec* interval, struct timespec* left) {
  if (page == NULL || !is_main_thread()) return (int)syscall(SYS_nanosleep, interval, left);
  uint64_t ns = (uint64_t)interval->tv_sec * 1000000000u + (uint64_t)interval->tv_nsec;
  while ((ns = advance(ns)) != 0) real_sleep();
  return 0;
}

/* A thread that waits for the next packet has processed the last one. */
int select(int count, fd_set* in, fd_set* out, fd_set* errors, struct timeval* timeout) {
  static int (*next)(int, fd_set*, fd_set*, fd_set*, struct timeval*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "select");
  if (page != NULL && has_state_packet) {
    has_state_packet = 0;
    page->processed++;
  }
  return next(count, in, out, errors, timeout);
}

ssize_t recvfrom(int file, void* data, size_t size, int flags, struct sockaddr* from,
                 socklen_t* length) {
  static ssize_t (*next)(int, void*, size_t, int, struct sockaddr*, socklen_t*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "recvfrom");
  const ssize_t received = next(file, data, size, flags, from, length);
  if (received == STATE_PACKET) has_state_packet = 1;
  return received;
}
