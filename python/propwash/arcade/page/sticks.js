// The keyboard as a transmitter of mode 2. Sticks: { roll, pitch, yaw, throttle }.

export const CHANNELS = ["roll", "pitch", "yaw", "throttle"];
export const HOVER = 0.5; // position of the throttle at which a vehicle hovers, or holds its height

const KEYS = {
  KeyA: ["yaw", -1],
  KeyD: ["yaw", 1],
  ArrowLeft: ["roll", -1],
  ArrowRight: ["roll", 1],
  ArrowDown: ["pitch", -1],
  ArrowUp: ["pitch", 1],
  KeyS: ["throttle", -1],
  KeyW: ["throttle", 1],
};
const LIMIT = { acro: 0.35, angle: 0.6, assisted: 1 }; // deflection by keys without Shift
const DEFLECT = 4; // 1/s, how fast a key moves a stick
const RELEASE = 8; // 1/s, how fast a stick returns
const THROTTLE = 0.5; // 1/s, of a throttle that holds its position
const FIRST = 1 / 60; // s, of movement at once with a key press

function towards(value, goal, step) {
  return value < goal ? Math.min(goal, value + step) : Math.max(goal, value - step);
}

export class KeyboardSticks {
  constructor() {
    this.pressed = new Set();
    this.sticks = { roll: 0, pitch: 0, yaw: 0, throttle: HOVER };
  }

  /** True if this key moves a stick. */
  static has(code) {
    return code in KEYS || code === "ShiftLeft" || code === "ShiftRight";
  }

  get active() {
    return [...this.pressed].some((code) => code in KEYS);
  }

  press(code, mode) {
    this.pressed.add(code);
    this.update(FIRST, mode);
  }

  release(code, mode) {
    this.pressed.delete(code);
    // Windows reports one release for both shift keys
    if (code.startsWith("Shift")) for (const side of ["Left", "Right"]) this.pressed.delete(`Shift${side}`);
    this.update(FIRST, mode);
  }

  /** Puts all keys up; the sticks return by themselves. */
  releaseAll() {
    this.pressed.clear();
  }

  /** Centres the sticks; a throttle without a spring stays. */
  centre(mode) {
    const throttle = mode === "assisted" ? HOVER : this.sticks.throttle;
    this.sticks = { roll: 0, pitch: 0, yaw: 0, throttle };
  }

  /** Positions for the start of a flight. */
  start(mode) {
    this.sticks = { roll: 0, pitch: 0, yaw: 0, throttle: mode === "assisted" ? HOVER : 0 };
  }

  /** Centres the sticks for another mode; a throttle that loses its spring is put to hover in flight. */
  change(before, mode, flying) {
    if (before === "assisted") this.sticks.throttle = flying ? HOVER : 0;
    this.centre(mode);
  }

  direction(channel) {
    let sum = 0;
    for (const code of this.pressed) if (KEYS[code]?.[0] === channel) sum += KEYS[code][1];
    return Math.sign(sum);
  }

  /** Moves the sticks for dt seconds. */
  update(dt, mode) {
    const full = this.pressed.has("ShiftLeft") || this.pressed.has("ShiftRight");
    const limit = full ? 1 : LIMIT[mode];
    const next = {};
    for (const channel of ["roll", "pitch", "yaw"]) {
      const goal = this.direction(channel) * limit;
      const value = this.sticks[channel];
      const returns = goal === 0 || goal * value < 0;
      next[channel] = towards(value, goal, (returns ? RELEASE : DEFLECT) * dt);
    }
    const direction = this.direction("throttle");
    const value = this.sticks.throttle;
    if (mode === "assisted") {
      next.throttle = towards(value, HOVER + direction / 2, (direction ? DEFLECT : RELEASE) * dt / 2);
    } else {
      next.throttle = Math.min(1, Math.max(0, value + direction * THROTTLE * dt));
    }
    this.sticks = next;
    return next;
  }
}
