// Validation, constants and trim of a vehicle, of propwash::static and of the Python extension:
// they are not part of a step.
#include "propwash/vehicle/make_tick_constants.hpp"
#include "propwash/vehicle/outer_loop_fields.hpp"
#include "propwash/vehicle/trim.hpp"

namespace propwash {

template std::array<FieldView, detail::schema::vehicle_fields> fields<void>(VehicleParameters&);
template detail::Violations detail::violations_of<void>(const VehicleParameters&);
template detail::Violations detail::violations_of<void>(const OuterLoopParameters&);
template Allocation<double, Dynamic> make_allocation<double, Dynamic>(
    const std::vector<RotorParameters<double>>&, const MotorParameters<double>&);
template MulticopterModel<double, Dynamic, GeneralShape> make_model<double, Dynamic, GeneralShape>(
    const VehicleParameters&);
template TickConstants<double, Dynamic, GeneralShape> make_tick_constants(const VehicleParameters&,
                                                                          const VehicleParameters&);
template TickConstants<double, Dynamic, PrincipalShape> make_tick_constants(
    const VehicleParameters&, const VehicleParameters&);
template MulticopterState<double, Dynamic> trim<void>(const VehicleParameters&,
                                                      const SteadyFlight&);

}  // namespace propwash
