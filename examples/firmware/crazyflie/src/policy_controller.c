/* A policy of propwash as an out-of-tree controller of the Crazyflie: its rates and thrust become a setpoint
 * of the firmware's PID rate loop.
 *
 * It reads the estimated state and the gyroscope. The target is the position of the setpoint, so that the
 * commander and the high-level commander fly the policy. */
#include "app.h"
#include "controller.h"
#include "controller_pid.h"
#include "policy.h"

#define DEGREES (180.0F / 3.14159265F)

static policy_policy memory;
static policy_command command;
static uint32_t steps_per_policy;
static bool has_command; /* a command of the policy, of this flight */

void appMain(void) {}

void controllerOutOfTreeInit(void)
{
  policy_reset(&memory);
  steps_per_policy = (uint32_t)((float)RATE_MAIN_LOOP * POLICY_PERIOD + 0.5F);
  controllerPidInit();
}

/* Runs before the first flight: refuses to fly if the processor computes other actions than the training. */
bool controllerOutOfTreeTest(void)
{
  return policy_self_test() <= 1e-5F;
}

void controllerOutOfTree(control_t *control, const setpoint_t *setpoint, const sensorData_t *sensors,
    const state_t *state, const stabilizerStep_t step)
{
  setpoint_t rates = *setpoint;
  /* on the ground, or commanded by hand: the firmware's own controller */
  if (setpoint->mode.x != modeAbs || setpoint->mode.y != modeAbs || setpoint->mode.z != modeAbs) {
    policy_reset(&memory);
    has_command = false;
    controllerPid(control, setpoint, sensors, state, step);
    return;
  }
  if (!has_command || step % steps_per_policy == 0U) {
    const policy_state now = {
        .position = {state->position.x, state->position.y, state->position.z},
        .velocity = {state->velocity.x, state->velocity.y, state->velocity.z},
        .attitude = {state->attitudeQuaternion.w, state->attitudeQuaternion.x, state->attitudeQuaternion.y,
            state->attitudeQuaternion.z},
        .body_rates = {sensors->gyro.x / DEGREES, sensors->gyro.y / DEGREES, sensors->gyro.z / DEGREES}};
    const policy_goal goal = {.target = {setpoint->position.x, setpoint->position.y, setpoint->position.z}};
    has_command = policy_step(&memory, &now, &goal, &command) == POLICY_OK;
  }
  if (!has_command) { /* the estimate is not finite */
    controllerPid(control, setpoint, sensors, state, step);
    return;
  }
  rates.mode.x = modeDisable;
  rates.mode.y = modeDisable;
  rates.mode.z = modeDisable;
  rates.mode.quat = modeDisable;
  rates.mode.roll = modeVelocity;
  rates.mode.pitch = modeVelocity;
  rates.mode.yaw = modeVelocity;
  rates.attitudeRate.roll = command.rates[0] * DEGREES;
  rates.attitudeRate.pitch = -command.rates[1] * DEGREES; /* pitch is positive nose up in this firmware */
  rates.attitudeRate.yaw = command.rates[2] * DEGREES;
  rates.thrust = command.thrust_fraction * (float)UINT16_MAX;
  controllerPid(control, &rates, sensors, state, step);
}
