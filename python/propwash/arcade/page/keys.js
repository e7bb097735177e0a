// Keys of the page: those of the sticks, and one for each action.

import { KeyboardSticks } from "./sticks.js";

export const hasDialog = () => document.querySelector("dialog[open]") !== null;

/** Keys in a field or a dialog belong to it. */
function isTyping(event) {
  const tag = event.target.tagName;
  const presses = event.code === "Space" || event.code === "Enter" || event.code === "Tab";
  return (
    hasDialog() ||
    event.ctrlKey || event.altKey || event.metaKey ||
    tag === "INPUT" || tag === "SELECT" || (tag === "BUTTON" && presses)
  );
}

/**
 * Calls `commands[code]()` for a key, `press(code, time)` and `release(code, time)` for those of the
 * sticks, and `centre()` when the hands may have left the keys.
 */
export function listen({ commands, press, release, centre }) {
  window.addEventListener("keydown", (event) => {
    if (event.key === "Meta") centre(); // macOS reports no release of other keys while it is down
    if (isTyping(event)) return;
    const isStick = KeyboardSticks.has(event.code);
    if (!isStick && !(event.code in commands)) return;
    event.preventDefault();
    if (event.repeat) return;
    if (isStick) press(event.code, event.timeStamp);
    else commands[event.code]();
  });
  window.addEventListener("keyup", (event) => {
    if (KeyboardSticks.has(event.code)) release(event.code, event.timeStamp);
  });
  window.addEventListener("blur", centre);
}
