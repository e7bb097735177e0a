// error: deleted
// A copy of a pool of threads.
#include <propwash/fleet/thread_pool.hpp>

#if defined(MISTAKE)
using Pool = propwash::ThreadPool;
#else
using Pool = propwash::ThreadPool&;
#endif

int threads(Pool pool);
int threads_of(propwash::ThreadPool& pool) { return threads(pool); }
