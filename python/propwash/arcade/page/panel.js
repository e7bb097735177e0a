// Texts: the panel in the centre, the tasks of the lesson, and gates passed out of order.

import { clock } from "./hud.js";

const ENDED = {
  finished: "Finished",
  collided: "Collision",
  timeout: "Time limit",
};
const TASKS = {
  take_off: ["Hold W: climb to 1 m", "Left stick up: climb to 1 m"],
  hover: ["Release all keys: the vehicle hovers", "Release the sticks: the vehicle hovers"],
  yaw: ["Hold A or D: turn by 90°", "Left stick to a side: turn by 90°"],
  gate: [
    "Face the orange gate with A and D, then hold ↑ to fly through it",
    "Face the orange gate with the left stick, then push the right stick up",
  ],
  gates: ["Now the other gates, in order", "Now the other gates, in order"],
};

export const hasEnded = (hud) => hud !== null && hud.phase in ENDED;

/** Whether a result is that of a flight which ended by itself. */
export const endsFlight = (result) => result in ENDED;

/** The task of the lesson as { text, step, progress }; null: none. */
export function taskOf(hud, source) {
  if (!hud?.task || hasEnded(hud)) return null;
  const names = Object.keys(TASKS);
  return {
    text: TASKS[hud.task][source === "gamepad" ? 1 : 0],
    step: `${names.indexOf(hud.task) + 1} / ${names.length}`,
    progress: hud.progress,
  };
}

/** What is said about a gate that was passed out of order. */
export function wrongGate({ wrong, next }) {
  if (wrong.backwards) return `${wrong.gate} was passed backwards`;
  return `${wrong.gate} is not the next gate` + (next ? `: fly to ${next}` : "");
}

function ended({ flight, hud, course }, isPilot) {
  const gates = flight?.gates ?? hud.passed.length;
  const time = flight?.gates ? flight.race_time : hud.race_time;
  const numbers = [["Gates", `${gates} / ${hud.gates}`], ["Time", clock(time)]];
  if (flight) numbers.push(["Score", flight.score.toFixed(2)]);
  if (flight?.place) numbers.push(["Place", `${flight.place}`]);
  const unranked = flight && !flight.ranked ? "This flight is not ranked." : "";
  const learned = hud.task && hud.phase === "finished" && isPilot;
  return {
    kind: hud.phase,
    title: hud.collision && hud.phase === "collided" ? `Collision: ${hud.collision}` : ENDED[hud.phase],
    text: learned ? `${course.title.split(":")[0]} completed. M selects another course.` : unranked,
    numbers,
    log: flight?.log,
    button: isPilot ? "Fly again" : "",
  };
}

function paused({ reason, countdown }, isPilot) {
  const why = reason ? `${reason[0].toUpperCase()}${reason.slice(1)}. ` : "";
  if (countdown) {
    const text = why + (isPilot ? "P or Space continues at once." : "");
    return { kind: "countdown", title: `${countdown}`, text };
  }
  const text = why + (isPilot ? "P or Space continues." : "");
  return { kind: "paused", title: "Paused", text, button: isPilot ? "Continue" : "" };
}

/** What the panel in the centre says in a state of the page; null: nothing. */
export function panelOf(arcade, isPilot) {
  const { connected, hello, hud, status } = arcade;
  if (!connected) {
    const text = hello
      ? "A flight is paused, and its log is kept. Trying again … If the command has ended, start it again " +
        "and open its new address."
      : "";
    return { kind: "lost", title: hello ? "Connection lost" : "Connecting …", text };
  }
  if (!hello || !status || !hud) return null;
  if (hasEnded(hud)) return ended(arcade, isPilot);
  if (status.paused) return paused(status, isPilot);
  if (hud.phase === "ready" && isPilot && !hud.task) {
    const text = "to take off, arrow keys to fly, H for help";
    return { kind: "ready", title: arcade.mode === "assisted" ? "Hold W" : "W for more throttle", text };
  }
  return null;
}
