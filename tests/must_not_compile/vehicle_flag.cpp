// error: State, Command and Constants of a vehicle: expected numbers
// A flag among the constants of a vehicle, which its fleet would lose.
#include <propwash/fleet/fleet.hpp>

struct Cart {
  struct Parameters {};
  template <class T>
  struct State {
    T x{};
    PROPWASH_MEMBERS(x)
  };
  template <class T>
  struct Command {
    T speed{};
    PROPWASH_MEMBERS(speed)
  };
  template <class P>
  struct Constants {
    P limit{};
#if defined(MISTAKE)
    bool is_slow = false;
    PROPWASH_MEMBERS(limit, is_slow)
#else
    PROPWASH_MEMBERS(limit)
#endif

    template <class T>
    State<T> derivative(const State<T>&, const Command<T>& command) const {
      return {propwash::min(command.speed, T(limit))};
    }
  };
  static Constants<double> constants(const Parameters&, double) { return {}; }
};

propwash::Fleet<Cart, float> fleet(std::size_t size) { return {Cart::Parameters{}, size}; }
