// The page of the arcade: keys and gamepad to the server, images and numbers to the screen.

import { CalibrationDialog } from "./calibration.js";
import { Connection } from "./connection.js";
import { Gamepads } from "./gamepad.js";
import { $, drawHud, drawMessage, drawRates, drawTask, notice, setText } from "./hud.js";
import { hasDialog, listen } from "./keys.js";
import { Latency } from "./latency.js";
import { CourseMap } from "./map.js";
import { Menu } from "./menu.js";
import { endsFlight, hasEnded, panelOf, taskOf, wrongGate } from "./panel.js";
import { Sounds, soundsOf } from "./sounds.js";
import { CHANNELS, KeyboardSticks } from "./sticks.js";

const PERIOD = 50; // ms, the longest time between two inputs
const SCALES = [1, 0.5, 0.25];

const latency = new Latency();
const keyboard = new KeyboardSticks();
const map = new CourseMap($("map"));
const sounds = new Sounds();

// what the page shows, and what tests read
const arcade = {
  connected: false,
  hello: null,
  status: null,
  course: null,
  board: null,
  flight: null, // the result of the flight that has ended
  lastLog: null, // file of the flight log
  hud: null, // the numbers of the image that is drawn
  frames: 0, // images drawn
  rate: 0, // images per second
  latency,
  sounds,
  mode: "assisted",
  sticks: keyboard.sticks,
  source: "keyboard",
  number: 0, // of the newest input
};
window.arcade = arcade;

let sentAt = 0;
let sentKey = "";
let eventTime = null; // of the movement that the next input contains

const isPilot = () => arcade.status?.role === "pilot";
const isFlying = () => arcade.hud?.phase === "flying";
const isPaused = () => arcade.status?.paused ?? false;

const connection = new Connection({
  changed(connected) {
    arcade.connected = connected;
    latency.clear();
    keyboard.releaseAll();
    sentKey = "";
    showState();
  },
  message(message) {
    received[message.type]?.(message);
    showState();
  },
  image: draw,
});

const received = {
  hello(message) {
    arcade.hello = message;
    const [width, height] = message.size;
    Object.assign($("image"), { width, height });
    $("target").setAttribute("viewBox", `0 0 ${width} ${height}`);
    $("frame").style.setProperty("--ratio", width / height);
    menu.hello(message);
  },
  status(message) {
    if (message.paused) latency.clear();
    if (message.countdown && message.countdown !== arcade.status?.countdown) sounds.play("countdown");
    arcade.status = message;
  },
  course(message) {
    arcade.course = message;
    menu.course(message);
    map.course(message);
    if ($("notice").className === "loading") $("notice").hidden = true;
  },
  flight(message) {
    arcade.lastLog = message.log;
    if (endsFlight(message.result)) arcade.flight = message;
    else if (message.log) notice(`Log: ${message.log}`);
  },
  board(message) {
    const { name, seed } = arcade.course ?? {};
    if (message.course !== name || message.seed !== seed) return; // of the flight before a selection
    arcade.board = message;
    menu.board(message, arcade.lastLog);
  },
  notice(message) {
    notice(message.text);
  },
};

/** Sends a command of the pilot. Returns whether it was sent. */
function command(type, fields) {
  if (!isPilot()) notice("You are watching.");
  return isPilot() && connection.send(type, fields);
}

const actions = {
  select(settings) {
    if (!command("select", settings)) return;
    restart();
    notice(`Loading ${settings.course} …`, "loading");
  },
  mode(name) {
    const modes = arcade.hello?.modes ?? [];
    const index = typeof name === "number" ? name : modes.indexOf(name ?? "");
    const next = name === null ? (modes.indexOf(arcade.mode) + 1) % modes.length : index;
    if (!modes[next] || modes[next] === arcade.mode) return;
    keyboard.change(arcade.mode, modes[next], isFlying());
    arcade.mode = modes[next];
    move(performance.now());
    showState();
  },
  camera(view) {
    const views = arcade.hello?.views ?? [];
    const next = view ?? views[(views.indexOf(arcade.status?.view) + 1) % views.length];
    if (next) command("camera", { view: next });
  },
  clock(scale) {
    const current = SCALES.indexOf(arcade.status?.scale);
    command("clock", { scale: scale ?? SCALES[(current + 1) % SCALES.length] });
  },
  reset() {
    if (command("reset")) restart();
  },
  pause(paused) {
    command("pause", { paused: typeof paused === "boolean" ? paused : !isPaused() });
  },
  mute(muted) {
    sounds.mute(typeof muted === "boolean" ? muted : !sounds.muted);
    sounds.unlock();
    showState();
  },
};

const menu = new Menu(actions);
const gamepads = new Gamepads(actions);
const calibration = new CalibrationDialog(() => gamepads.reload());

function restart() {
  arcade.flight = null;
  keyboard.start(arcade.mode);
  latency.clear();
}

/** Sends the sticks if they have changed, or if the last message is old. */
function send(now) {
  if (!isPilot()) return;
  const sticks = CHANNELS.map((name) => Number(arcade.sticks[name].toFixed(4)));
  const key = JSON.stringify([sticks, arcade.mode]);
  if (key === sentKey && now - sentAt < PERIOD - 5) return;
  arcade.number += 1;
  if (!connection.send("input", { number: arcade.number, sticks, mode: arcade.mode })) return;
  if (eventTime !== null && key !== sentKey && !isPaused() && !hasEnded(arcade.hud)) {
    latency.sent(arcade.number, eventTime);
  }
  eventTime = null;
  [sentKey, sentAt] = [key, now];
}

/** Takes the sticks of the keyboard at once after an event at `time`. */
function move(time) {
  if (arcade.source === "keyboard") arcade.sticks = keyboard.sticks;
  eventTime ??= time;
  send(performance.now());
}

/** The keyboard flies, with the throttle of the device before it. */
function useKeyboard() {
  if (arcade.source === "gamepad" && arcade.mode !== "assisted") {
    keyboard.sticks.throttle = arcade.sticks.throttle;
  }
  arcade.source = "keyboard";
  gamepads.yield();
}

let lastTick = performance.now();

/** Once for each frame of the screen: reads the devices. */
function tick(now) {
  requestAnimationFrame(tick); // first: an error must not end the input
  const dt = Math.min(0.1, Math.max(0, (now - lastTick) / 1000));
  lastTick = now;
  keyboard.update(dt, arcade.mode);
  const inDialog = hasDialog();
  const pad = gamepads.read(!inDialog);
  if (!pad && arcade.source === "gamepad") {
    notice("The gamepad was disconnected.");
    if (isFlying()) actions.pause(true);
  }
  if (!pad || keyboard.active || inDialog) {
    useKeyboard();
  } else if (pad.moved) {
    arcade.source = "gamepad";
  }
  arcade.sticks = arcade.source === "gamepad" ? pad.sticks : keyboard.sticks;
  if (arcade.source === "gamepad") eventTime = performance.now();
  setText($("source"), arcade.source);
  if (calibration.open) calibration.update();
  if (gamepads.uncalibrated !== warned) warnUncalibrated();
  send(now);
}

let warned = null;

function warnUncalibrated() {
  warned = gamepads.uncalibrated;
  if (warned && !calibration.open) notice(`${warned} needs a calibration: open Gamepad.`);
}

const context = $("image").getContext("2d", { alpha: false });
let drawnTimes = [];

function draw(hud, bitmap) {
  context.drawImage(bitmap, 0, 0, $("image").width, $("image").height);
  const before = arcade.hud;
  arcade.hud = hud;
  arcade.frames += 1;
  if (hud.input <= arcade.number) latency.drawn(hud.input); // else: of another page
  drawHud(hud, arcade.hello?.size ?? [$("image").width, $("image").height]);
  map.draw(hud);
  drawTask(taskOf(hud, arcade.source));
  const names = soundsOf(before, hud);
  names.forEach((name) => sounds.play(name));
  if (names.includes("wrong")) notice(wrongGate(hud), "wrong");
  const now = performance.now();
  drawnTimes = [...drawnTimes.filter((time) => time > now - 1000), now];
  if (hud.phase !== before?.phase) {
    if (hud.phase === "ready") restart();
    if (hud.phase === "flying") arcade.flight = null; // a result that came after a reset
    if (hasEnded(hud)) latency.clear();
    showState();
  }
}

function showState() {
  const { status } = arcade;
  drawMessage(panelOf(arcade, isPilot()));
  $("sound").setAttribute("aria-pressed", String(!sounds.muted));
  document.body.classList.toggle("lost", !arcade.connected);
  const watches = arcade.connected && status?.role === "watcher";
  $("banner").hidden = !watches;
  setText($("banner-text"), status?.has_pilot ? "You are watching." : "The pilot has left.");
  $("take-over").hidden = status?.has_pilot ?? true;
  if (!status) return;
  menu.state({ ...status, mode: isPilot() ? arcade.mode : arcade.hud?.mode, pilot: isPilot() });
}

const COMMANDS = {
  Digit1: () => actions.mode(0),
  Digit2: () => actions.mode(1),
  Digit3: () => actions.mode(2),
  KeyR: () => actions.reset(),
  KeyP: () => actions.pause(),
  Space: () => actions.pause(),
  KeyC: () => actions.camera(),
  KeyT: () => actions.clock(),
  KeyV: () => actions.mute(),
  KeyM: () => menu.toggle(),
  KeyH: () => openDialog($("help")),
};

function openDialog(dialog) {
  if (isPilot() && isFlying()) actions.pause(true);
  centre();
  if (dialog === $("calibration")) calibration.show();
  else dialog.showModal();
}

/** The hands have left the keys: centres the sticks; a throttle without a spring stays. */
function centre() {
  keyboard.releaseAll();
  keyboard.centre(arcade.mode);
  move(performance.now());
}

listen({
  commands: COMMANDS,
  press(code, time) {
    keyboard.press(code, arcade.mode);
    if (keyboard.active) useKeyboard();
    move(time);
  },
  release(code, time) {
    keyboard.release(code, arcade.mode);
    move(time);
  },
  centre,
});
for (const type of ["keydown", "pointerdown"]) window.addEventListener(type, () => sounds.unlock());
document.addEventListener("visibilitychange", () => {
  if (document.hidden && isPilot() && isFlying()) actions.pause(true);
});
document.addEventListener("click", (event) => {
  const inside = event.target.closest("dialog, select, input, label");
  if (!inside && event.detail > 0) $("stage").focus();
});
$("settings").addEventListener("submit", () => $("stage").focus());
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("close", () => $("stage").focus()); // not the button, which Space presses
}
$("sound").addEventListener("click", () => actions.mute());
$("open-help").addEventListener("click", () => openDialog($("help")));
$("open-gamepad").addEventListener("click", () => openDialog($("calibration")));
$("take-over").addEventListener("click", () => connection.send("take_over"));
$("message-button").addEventListener("click", () => {
  if (hasEnded(arcade.hud)) actions.reset();
  else actions.pause(false);
});

setInterval(() => send(performance.now()), PERIOD);
setInterval(() => {
  const now = performance.now();
  arcade.rate = drawnTimes.filter((time) => time > now - 1000).length;
  drawRates(arcade.rate, latency.median);
}, 500);
requestAnimationFrame(tick);
showState();
