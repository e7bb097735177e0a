#define PROPWASH_LEARN_INSTANCE
#include "instances.hpp"
