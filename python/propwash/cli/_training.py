"""One training of `python -m propwash train`: evaluations, checkpoints, logs and results."""

from __future__ import annotations

import copy
import io
import json
import math
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from propwash._bridge import Interrupt
from propwash._files import written_whole
from propwash.cli import _training_curve
from propwash.cli._shared import saved
from propwash.cli._training_errors import place_of, without_thread_reports
from propwash.viz import video as _video

CHECKPOINT, POLICY, CURVE, FLIGHT = "checkpoint.pt", "policy.onnx", "curve.png", "flight"
TRADEOFF = "tradeoff.png"
RESTART = ("learner", "curve", "seconds", "cpu")
"""Parts of a checkpoint that are from the last restart."""
EVALUATION_SEED, FINAL_SEED = 2**31, 2**32
"""Added to the seed of the training for evaluations during it, and for the last one."""
EXPECTED = (FloatingPointError, NotImplementedError, OSError, ValueError)
"""Errors of a training besides those raised in a custom task."""


class Training:
    """One run of the command.

    Args:
        settings: task, method, seed, threads; larger, whether --full selects another network;
            changes and set, values of --option and --set in JSON.
        options: out, steps, seconds, every, full, viz and video of the command.
        checkpoint: Result of read_checkpoint to continue from.
    """

    def __init__(
        self, settings: dict[str, Any], options: Any, out: Path, checkpoint: dict[str, Any] | None
    ) -> None:
        import torch

        from propwash.gym import bptt, imitate, policy, ppo, recipes, recurrent, shac
        from propwash.gym.evaluation import check_evaluable

        self.settings, self.out, self.viz, self.video = settings, out, options.viz, options.video
        self.task, self.seed, threads = settings["task"], settings["seed"], settings["threads"]
        others, changed = json.loads(settings["changes"]), json.loads(settings["set"])
        method, larger = settings["method"], settings["larger"]
        recipe: Any = recipes.recipe(self.task, others.get("observation"), method, larger=larger)
        recipe, kind = recipes.with_settings(recipe, changed), policy.task_class(self.task)
        training = {"method": method, "seed": self.seed, "settings": changed}
        if larger:
            training["larger"] = True
        self.description = policy.describe(
            self.task, recipes.merged(kind, recipe.options, others), training
        )
        common: dict[str, Any] = {"copy": False, "threads": threads}
        during, self.episodes = recipe.episodes
        self.between = {
            name: self.description.make_vec(
                during, **common, **recipes.merged(kind, varied, others)
            )
            for name, varied in recipe.between.items()
        }
        self.last = self.description.make_vec(self.episodes, **common)
        check_evaluable(self.last)
        if "columns" not in changed:
            # the task's extras follow the action, for which the recipes assume four columns
            more = math.prod(self.last.single_action_space.shape or ()) - 4
            columns = tuple(each + more * (each > 18) for each in recipe.args.columns)
            recipe = replace(recipe, args=replace(recipe.args, columns=columns))
        _check_columns(recipe.args.columns, self.last)
        torch.set_num_threads(threads)
        different = recipes.merged(kind, recipe.training, others)
        envs = self.description.make_vec(recipe.num_envs, **common, **different)
        learners: dict[str, Any] = {
            "shac": shac.SHAC,
            "bptt": bptt.BPTT,
            "imitate": imitate.Imitation,
        }
        learner = learners.get(method) or recurrent.trainer(recipe.args)
        self.learner: ppo.PPO | shac.SHAC | bptt.BPTT | imitate.Imitation = learner(
            envs, recipe.args, self.seed
        )
        self.steps, self.seconds = options.steps or recipe.steps, options.seconds
        self.every = recipe.every if options.every is None else max(1, round(options.every))
        self.goal, self.full = recipe.goal, options.full
        self.curve = _training_curve.Curve()
        self.best: dict[str, Any] = {}
        self.before = self.cpu_before = 0.0
        self.stopped = self.reached = False
        self.measured = ""  # in the last evaluation, for the bar
        self.results: dict[str, Any] = {}
        self.restart: dict[str, Any] = {}
        self.written = -1  # step of the checkpoint file
        self.resumed = checkpoint is not None
        if checkpoint is not None:
            self._restore(checkpoint)

    def _restore(self, checkpoint: dict[str, Any]) -> None:
        try:
            self.learner.load_state_dict(checkpoint["learner"])
            self.best, self.results = checkpoint["best"], checkpoint["results"]
            self.restart = {name: checkpoint[name] for name in RESTART}
            self.written = self.learner.global_step
            if self.best:
                self._agent_of(self.best)
        except Exception as error:  # torch raises many types
            raise ValueError(
                f"{self.out / CHECKPOINT}: expected one of this version, got {error!s:.200}"
            ) from error
        self.curve = _training_curve.Curve(*checkpoint["curve"])
        self.before, self.cpu_before = checkpoint["seconds"], checkpoint["cpu"]

    def finished(self) -> dict[str, float]:
        """Returns the results of a finished training, with its whole curve; {} of another one."""
        if not self.results:
            return {}
        row: dict[str, float] = self.results["row"]
        if not (self.results["reached"] and not self.full) and row["steps"] < self.steps:
            return {}
        self.curve = _training_curve.Curve(*self.results["curve"])
        return row

    @property
    def elapsed(self) -> float:
        """Time of training [s], evaluations included."""
        return self.before + time.perf_counter() - self.began

    @property
    def cpu(self) -> float:
        """Processor time of training [s], evaluations included."""
        return self.cpu_before + time.process_time() - self.cpu_began

    def run(self) -> dict[str, float]:
        """Trains until the goal is reached, the budget is spent, or Ctrl-C.

        Returns the results by name: seed, steps, CPU seconds and the measures of the last
        evaluation. Raises ValueError if the training diverges, the task fails or a file cannot be
        written; the last checkpoint and the best policy remain.
        """
        self.began, self.cpu_began = time.perf_counter(), time.process_time()
        self.results = {}
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            self._train()
            cpu = self.cpu
            row = {"seed": self.seed, "steps": self.learner.global_step, "CPU [s]": cpu}
            row |= self.finish()
            if not self.stopped:
                self.results = {"row": row, "reached": self.reached, "curve": self._curve()}
                self._write_checkpoint()
        except Exception as error:
            place = place_of(error, self.last.task)
            if not (place or isinstance(error, EXPECTED)):
                raise
            raise ValueError(self._failure(error, place)) from error
        if self.stopped:
            print("  stopped; --resume continues from the checkpoint")
            raise KeyboardInterrupt
        return row

    def _train(self) -> None:
        from torch.utils.tensorboard.writer import SummaryWriter

        if self.learner.iteration == 0:
            self.save_checkpoint()
        with (
            without_thread_reports(),
            # removes the steps that a resumed run repeats
            SummaryWriter(
                str(self.out), purge_step=self.learner.global_step if self.resumed else None
            ) as self.log,
            import_module("tqdm").tqdm(
                total=round(self.steps),
                initial=self.learner.global_step,
                unit="step",
                unit_scale=True,
                desc=self.task,
                disable=not sys.stderr.isatty(),
            ) as self.bar,
            Interrupt(self),
        ):
            while (
                self.learner.global_step < self.steps
                and not (self.stopped or self.reached)
                and self.elapsed - self.before < self.seconds
            ):
                statistics = self.learner.iterate()
                if not all(each.isfinite().all() for each in self.learner.agent.parameters()):
                    raise FloatingPointError("expected finite weights")
                self.record(statistics)
            if self.curve.evaluated_at != self.learner.global_step:
                self.evaluate_between()

    def _failure(self, error: Exception, place: str) -> str:
        """Keeps the best policy, and returns a message for an error in the training."""
        kept = [f"{self.out / POLICY} is that of step {self.best['step']:,}"] if self.best else []
        with suppress(OSError):
            if self.restart:
                self._write_checkpoint()
        if self.written >= 0:
            kept.append(f"{self.out / CHECKPOINT} is that of step {self.written:,}")
        reason = f"{error}{place}"
        if isinstance(error, FloatingPointError):
            reason = f"diverged: {error}; lower learning_rate or reward_scale with --set"
        elif not isinstance(error, OSError | ValueError):
            reason = f"{type(error).__name__}: {reason}"
        stopped = f"{self.task}: the training stopped at step {self.learner.global_step:,}"
        return ". ".join([f"{stopped}: {reason}", *kept])

    def record(self, statistics: dict[str, float]) -> None:
        """Logs an iteration, evaluates the policy and saves a checkpoint when due."""
        trained = self.learner
        step = trained.global_step
        before = self.curve.rewards[-1][0] if self.curve.rewards else 0
        self.curve.rewards.append((step, self.elapsed, statistics["reward"]))
        for name, value in statistics.items():
            self.log.add_scalar(f"train/{name}", value, step)
        self.bar.set_postfix_str(f"reward {statistics['reward']:.2f}{self.measured}", refresh=False)
        self.bar.update(step - self.bar.n)
        if step // self.every > before // self.every:
            self.evaluate_between()
        if trained.iteration % trained.args.restart_every == 0:
            self.save_checkpoint()

    def evaluate_between(self) -> None:
        """Evaluates the policy, keeps it if it is the best, and compares it with the goal."""
        from propwash.gym import policy
        from propwash.gym.evaluation import evaluate, measures, merit, reaches

        step = self.learner.global_step
        reported = [f"{self.task}, seed {self.seed}: {step:,} steps, {self.elapsed:.1f} s"]
        for k, (name, envs) in enumerate(self.between.items()):
            result = evaluate(self.learner.policy, envs, EVALUATION_SEED + self.seed)
            measured = measures(self.last.task, result)
            for each, value in measured.items():
                self.log.add_scalar(f"{name}/{each}", value, step)
            self.curve.measure, value = next(iter(measured.items()))
            points = self.curve.evaluations.setdefault(name, [])
            points.append((step, self.elapsed, value))
            reported.append(f"{name}: {_listed(measured)}")
            if k > 0:
                continue
            self.measured = f", {self.curve.measure} {value:.4g}"
            if self.video:
                self._film(result, envs, step)
            meets_goal = bool(self.goal) and reaches(self.goal, measured)
            self.reached = meets_goal and not self.full
            score = (float(meets_goal), *merit(self.last.task, measured))
            if not self.best or score > tuple(self.best["merit"]):
                agent = {n: each.clone() for n, each in self.learner.policy.state_dict().items()}
                best = {"merit": list(score), "step": step, "agent": agent}
                policy.save(self._agent_of(best), self.out / POLICY, self.description)
                self.best = best
        if self.goal:
            reported.append(f"goal: {_listed(self.goal)}")
        if self.bar.disable:
            print("; ".join(reported), file=sys.stderr, flush=True)

    def _film(self, result: Any, envs: Any, step: int) -> None:
        """Writes a video of the worst episodes of an evaluation in the scene of the worst."""
        from propwash.cli import _flight_video

        worst = result.worst(_training_curve.SHOWN).tolist()
        scene = envs.task.scenery(worst[0])
        rows = [row for row in worst if envs.task.scenery(row) is scene]
        file = self.out / f"worst_{step:010d}.gif"
        images = _flight_video.video(result, envs, f"{self.task}, step {step:,}, worst", rows)
        with written_whole(file) as part:
            _video.write(part, images, _flight_video.RATE)

    def save_checkpoint(self) -> None:
        """Writes the checkpoint of a restart."""
        values = self.learner.state_dict(), self._curve(), self.elapsed, self.cpu
        self.restart = copy.deepcopy(dict(zip(RESTART, values, strict=True)))
        self._write_checkpoint()

    def _curve(self) -> tuple[Any, ...]:
        return self.curve.rewards, self.curve.evaluations, self.curve.measure

    def _write_checkpoint(self) -> None:
        """Writes the last restart, with the best policy so far, atomically."""
        import torch

        content = io.BytesIO()
        others = {"settings": self.settings, "best": self.best, "results": self.results}
        torch.save({**others, **self.restart}, content)
        with written_whole(self.out / CHECKPOINT) as part:
            part.write_bytes(content.getvalue())
        self.written = int(self.restart["learner"]["counts"][1])

    def _agent_of(self, best: dict[str, Any]) -> Any:
        """A copy of the agent with the weights of an evaluation."""
        agent = copy.deepcopy(self.learner.policy)
        agent.load_state_dict(best["agent"])
        return agent

    def finish(self) -> dict[str, float]:
        """Writes the best policy, its last evaluation and the figures; returns the measures."""
        from propwash.gym import policy
        from propwash.gym.evaluation import evaluate, measures

        self._write_checkpoint()
        agent, seconds, steps = self._agent_of(self.best), self.elapsed, self.learner.global_step
        result = evaluate(agent, self.last, FINAL_SEED + self.seed)
        measured = measures(self.last.task, result)
        # JSON has no infinity or NaN
        finite = {name: value for name, value in measured.items() if math.isfinite(value)}
        counts = {"steps": steps, "best_step": self.best["step"], "seconds": round(seconds, 2)}
        training = {**self.description.training, **counts, **finite}
        policy.save(agent, self.out / POLICY, replace(self.description, training=training))
        reason = f", goal reached: {_listed(self.goal)}" if self.reached else ""
        print(f"{self.task}: {steps:,} steps in {seconds:.1f} s, seed {self.seed}{reason}")
        print(f"  processor time {self.cpu:.1f} s")
        print(_training_curve.table(measured, self.episodes))
        if self.baseline:
            print(f"  {self.baseline_name}")
            print(_training_curve.table(self.baseline, self.episodes))
        print(f"  policy        {self.out / POLICY}, that of step {self.best['step']:,}")
        title = f"{self.task}, seed {self.seed}"
        curve = saved(lambda: self.curve.figure(title), self.out / CURVE)
        print(f"  curve         {curve}")
        suffix = ".rrd" if self.viz == "rerun" else ".png"
        shown = _training_curve.show_flights(
            result, self.out / f"{FLIGHT}{suffix}", self.viz, self.last, title
        )
        print(f"  flight        {shown}", flush=True)
        self.write_tradeoff({f"seed {self.seed}": measured}, self.out / TRADEOFF)
        return measured

    @property
    def baseline_name(self) -> str:
        """The task's name for flights with the action 0; "" for none."""
        engine = self.last._engine
        name: str = engine.task.baseline.get(engine.settings.action, "")
        return name

    @cached_property
    def baseline(self) -> dict[str, float]:
        """The measures of the action 0, if the task has a name for it."""
        from propwash.gym.evaluation import evaluate, measures

        task = self.last.task
        if not self.baseline_name:
            return {}
        idle = np.zeros(self.last._engine.action_shape, dtype=np.float32)
        result = evaluate(lambda seen: idle, self.last, FINAL_SEED + self.seed)
        return measures(task, result)

    def write_tradeoff(self, results: Mapping[str, Mapping[str, float]], file: Path) -> None:
        """Plots the task's tradeoff() of measures by name, and of the baseline, if it has one."""
        task = self.last.task
        named = {**results, **({self.baseline_name: self.baseline} if self.baseline else {})}
        found = {name: task.tradeoff(measured) for name, measured in named.items()}
        lines = {name: points for name, (_, _, points) in found.items() if points}
        if not lines:
            return
        x, y, _ = next(iter(found.values()))
        title = f"{self.task}: {self.episodes} new episodes"
        figure = _training_curve.tradeoff_figure
        print(f"  trade-off     {saved(lambda: figure((x, y), lines, title), file)}", flush=True)


def _listed(measured: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in measured.items())


def _check_columns(columns: tuple[int, ...], envs: Any) -> None:
    """Raises ValueError for columns that the observation does not have."""
    from gymnasium.spaces.utils import flatdim

    width = flatdim(envs.single_observation_space)
    if columns and max(columns) >= width:
        raise ValueError(
            f"columns: expected numbers below {width}, the width of the observation, got "
            f"{max(columns)}"
        )
