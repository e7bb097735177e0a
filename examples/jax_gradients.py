"""Gradients of a flight in JAX: a custom_vjp around fleet.vjp, and commands that it finds.

pip install propwash jax
python examples/jax_gradients.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import propwash as pw
from jax.example_libraries.optimizers import adam

jax.config.update("jax_enable_x64", True)  # numbers of the fleet are float64

STATE = {"position": 3, "velocity": 3, "attitude": 4, "body_rates": 3, "rotor_speeds": 0}
Variables = dict[str, dict[str, Any]]
States = dict[str, Any]


def rollout_of(
    fleet: pw.Fleet, kind: Callable[..., pw.Command], substeps: int
) -> Callable[[Variables], States]:
    """A flight of `fleet` as a function that jax.grad and jax.jit accept.

    Its argument has the keys "commands", arrays (T, n, …) by name of the part; "start", arrays
    (n, …) by name of the part of the state; "parameters", arrays (n, …) by name. With parameters,
    start has rotor_speeds, whose default depends on them. The result has arrays (T, n, …).

    Both passes call the fleet on the host. JAX may omit or repeat such calls, so that no call
    depends on another one: the backward pass repeats the flight, for about a tenth of its time.
    """

    def prepared(variables: Variables) -> pw.Command:
        values = jax.tree.map(np.asarray, variables)
        fleet.set_parameters(values["parameters"])
        fleet.reset(**values["start"], seed=fleet.seed)
        return kind(**values["commands"])

    def fly(variables: Variables) -> States:
        states = fleet.rollout(prepared(variables), substeps=substeps, record=tuple(STATE))
        return {name: np.asarray(getattr(states, name), float) for name in STATE}

    def pull(variables: Variables, cotangents: States) -> Variables:
        names = tuple(variables["parameters"])
        _, pullback = fleet.vjp(prepared(variables), substeps=substeps, parameters=names)
        gradient = pullback(**jax.tree.map(np.asarray, cotangents))
        start = dict(vars(gradient.start))
        # after a reset, past motor commands are equal to the rotor speeds
        start["rotor_speeds"] = start["rotor_speeds"] + gradient.motor_commands
        return {
            "commands": gradient.commands,
            "start": {name: start[name] for name in variables["start"]},
            "parameters": gradient.parameters,
        }

    @jax.custom_vjp
    def rollout(variables: Variables) -> States:
        steps = jax.tree.leaves(variables["commands"])[0].shape[0]
        shapes = {
            name: jax.ShapeDtypeStruct((steps, len(fleet), width or fleet.rotors), float)
            for name, width in STATE.items()
        }
        return jax.pure_callback(fly, shapes, variables)

    def forward(variables: Variables) -> tuple[States, Variables]:
        return rollout(variables), variables

    def backward(variables: Variables, cotangents: States) -> tuple[Variables]:
        return (jax.pure_callback(pull, variables, variables, cotangents),)

    rollout.defvjp(forward, backward)
    return rollout


def main() -> None:
    """Finds body rates and thrusts that end in hover at targets, by gradient descent."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--vehicles", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100, help="steps of the optimiser")
    options = parser.parse_args()
    n, commands = options.vehicles, 24
    fleet = pw.Fleet("flightgoggles", n, dtype="float64", noise=False)
    rollout = rollout_of(fleet, pw.RateThrust, substeps=40)  # 24 Hz, 1 s
    weight = 9.81 * fleet.parameters["mass"]
    target = np.random.default_rng(1).uniform(-0.5, 0.5, (n, 3))

    def loss(actions: Any) -> Any:
        parts = {"rates": 5.0 * actions[..., :3], "thrust": weight * (1.0 + actions[..., 3])}
        states = rollout({"commands": parts, "start": {}, "parameters": {}})
        last = {name: rows[-1] for name, rows in states.items()}
        error = jnp.square(last["position"] - target).sum(axis=-1)
        motion = sum(jnp.square(last[name]).sum(axis=-1) for name in ("velocity", "body_rates"))
        tilt = jnp.square(last["attitude"][:, 1:3]).sum(axis=-1)
        return (error + 0.1 * motion + tilt).sum() + 1e-3 * jnp.square(actions).sum()

    start, update, actions_of = adam(0.05)
    state = start(jnp.zeros((commands, n, 4)))
    value_and_gradient = jax.jit(jax.value_and_grad(loss))
    for step in range(options.steps):
        value, gradient = value_and_gradient(actions_of(state))
        state = update(step, gradient, state)
        if step % 10 == 0 or step == options.steps - 1:
            print(f"step {step:3}: loss {float(value) / n:.4f} per vehicle")
    error = np.linalg.norm(fleet.position - target, axis=1)
    print(f"distance from the target after 1 s: median {np.median(error):.3f} m")
    print(f"speed: median {np.median(np.linalg.norm(fleet.velocity, axis=1)):.3f} m/s")


if __name__ == "__main__":
    main()
