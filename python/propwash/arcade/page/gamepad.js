// Gamepads and RC transmitters: axes to sticks, by a mapping that is kept for each device.
//
// A mapping: { channels: { roll: { axis, min, centre, max, inverted }, ... }, deadband, mode }.
// mode: { button } or { axis }, or null: the switch that selects the mode of the sticks.

import { CHANNELS } from "./sticks.js";

const STORE = "propwash-arcade-gamepad:";
const MOVED = 0.1; // change of an axis that makes the device the one in use
export const DEADBAND = 0.03;

function channel(axis, inverted) {
  return { axis, min: -1, centre: 0, max: 1, inverted };
}

/** The W3C's standard gamepad: left stick throttle and yaw, right stick pitch and roll. */
export function standardMapping() {
  return {
    channels: {
      yaw: channel(0, false),
      throttle: channel(1, true),
      roll: channel(2, false),
      pitch: channel(3, true),
    },
    deadband: DEADBAND,
    mode: null,
  };
}

function finite(value) {
  return typeof value === "number" && Number.isFinite(value);
}

function validChannel(item) {
  return (
    item !== null && typeof item === "object" && Number.isInteger(item.axis) && item.axis >= 0 &&
    finite(item.min) && finite(item.centre) && finite(item.max) &&
    item.min < item.max && item.min <= item.centre && item.centre <= item.max
  );
}

export function validMapping(mapping) {
  return (
    mapping !== null && typeof mapping === "object" && finite(mapping.deadband) &&
    mapping.deadband >= 0 && mapping.deadband < 0.5 && typeof mapping.channels === "object" &&
    mapping.channels !== null && CHANNELS.every((name) => validChannel(mapping.channels[name] ?? null))
  );
}

/** The mapping kept for a device, or null. */
export function load(id) {
  try {
    const mapping = JSON.parse(localStorage.getItem(STORE + id));
    return validMapping(mapping) ? mapping : null;
  } catch {
    return null;
  }
}

/** Keeps the mapping of a device. Returns false where the browser keeps nothing. */
export function save(id, mapping) {
  try {
    localStorage.setItem(STORE + id, JSON.stringify(mapping));
    return true;
  } catch {
    return false;
  }
}

export function forget(id) {
  try {
    localStorage.removeItem(STORE + id);
  } catch {
    // the browser keeps nothing
  }
}

/** The mapping of a gamepad: kept, or standard; null: it needs a calibration. */
export function mappingOf(pad) {
  return load(pad.id) ?? (pad.mapping === "standard" ? standardMapping() : null);
}

/** -1 to 1: 0 within the deadband around the centre, continuous at its edges. */
export function deflection(item, value, deadband) {
  const range = value < item.centre ? item.centre - item.min : item.max - item.centre;
  const part = range > 0 ? Math.min(1, Math.abs(value - item.centre) / range) : 0;
  const size = Math.max(0, part - deadband) / (1 - deadband);
  return size === 0 ? 0 : Math.sign(value - item.centre) * size * (item.inverted ? -1 : 1);
}

/** 0 to 1 over the whole range; a stick with a spring is at 0.5 within the deadband. */
function throttle(item, value, deadband) {
  const middle = (item.min + item.max) / 2;
  const sprung = Math.abs(item.centre - middle) < 0.25 * (item.max - item.min);
  if (sprung) return (1 + deflection(item, value, deadband)) / 2;
  const part = Math.min(1, Math.max(0, (value - item.min) / (item.max - item.min)));
  return item.inverted ? 1 - part : part;
}

/** Sticks of the values of the axes. */
export function toSticks(mapping, axes) {
  const sticks = {};
  for (const name of CHANNELS) {
    const item = mapping.channels[name];
    const value = finite(axes[item.axis]) ? axes[item.axis] : item.centre;
    const read = name === "throttle" ? throttle : deflection;
    sticks[name] = read(item, value, mapping.deadband);
  }
  return sticks;
}

/** The position of the mode's switch: 0, 1, 2 of an axis; of a button, whether it is pressed. */
function switchPosition(mapping, pad) {
  if (!mapping.mode) return null;
  if (mapping.mode.button !== undefined) return pad.buttons[mapping.mode.button]?.pressed ?? false;
  const value = pad.axes[mapping.mode.axis] ?? 0;
  return value < -1 / 3 ? 0 : value > 1 / 3 ? 2 : 1;
}

/** Follows the connected gamepads: of those with a mapping, the one that moved last is in use. */
export class Gamepads {
  constructor(actions) {
    this.actions = actions; // mode(index or null for the next), reset, pause, camera
    this.mappings = new Map(); // by id; null: the device needs a calibration
    this.rests = new Map(); // by index: axes when another device was used last
    this.index = null; // of the gamepad in use
    this.buttons = [];
    this.position = null; // of the mode's switch
    this.uncalibrated = null; // id of a device that needs a calibration, if no other is connected
  }

  /** The connected gamepads; none where the browser offers them to secure addresses only. */
  static connected() {
    return [...(navigator.getGamepads?.() ?? [])].filter((pad) => pad && pad.connected !== false);
  }

  /** Reads the mappings again after a calibration. */
  reload() {
    this.mappings.clear();
    this.index = null;
  }

  /** Another device is used: a gamepad again when an axis of it moves from now on. */
  yield() {
    this.rests = new Map(Gamepads.connected().map((pad) => [pad.index, [...pad.axes]]));
  }

  mapping(pad) {
    if (!this.mappings.has(pad.id)) this.mappings.set(pad.id, mappingOf(pad));
    return this.mappings.get(pad.id);
  }

  /**
   * { sticks, moved } of the gamepad in use; null without one, and once when it is disconnected.
   * acts: whether its buttons and switch act.
   */
  read(acts) {
    const all = Gamepads.connected();
    const pads = all.filter((pad) => this.mapping(pad));
    this.uncalibrated = pads.length ? null : all[0]?.id ?? null;
    const before = pads.find((pad) => pad.index === this.index);
    if (this.index !== null && !before) {
      this.index = null;
      return null;
    }
    const moved = pads.filter((pad) => this.hasMoved(pad));
    const pad = moved.find((each) => each !== before) ?? before ?? pads[0];
    if (!pad) return null;
    if (pad !== before) this.use(pad, before);
    this.act(pad, acts);
    return { sticks: toSticks(this.mapping(pad), pad.axes), moved: moved.includes(pad) };
  }

  hasMoved(pad) {
    if (!this.rests.has(pad.index)) this.rests.set(pad.index, [...pad.axes]);
    const rest = this.rests.get(pad.index);
    const used = Object.values(this.mapping(pad).channels).map((item) => item.axis);
    return used.some((axis) => Math.abs(pad.axes[axis] - rest[axis]) > MOVED);
  }

  use(pad, before) {
    if (before) this.rests.set(before.index, [...before.axes]);
    this.index = pad.index;
    this.position = switchPosition(this.mapping(pad), pad);
    this.buttons = pad.buttons.map((button) => button.pressed);
  }

  act(pad, acts) {
    const mapping = this.mapping(pad);
    const pressed = pad.buttons.map((button) => button.pressed);
    const now = (index) => pressed[index] && !this.buttons[index];
    if (acts && pad.mapping === "standard") {
      if (now(0) && !mapping.mode) this.actions.mode(null);
      if (now(3)) this.actions.camera();
      if (now(8)) this.actions.reset();
      if (now(9)) this.actions.pause();
    }
    this.buttons = pressed;
    const position = switchPosition(mapping, pad);
    if (!acts || position === this.position) return;
    if (typeof position === "number") this.actions.mode(position);
    else if (position) this.actions.mode(null);
    this.position = position;
  }
}
