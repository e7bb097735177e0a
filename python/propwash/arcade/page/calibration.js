// The page of the gamepad: which axis is which stick, and its ends and centre.

import { DEADBAND, Gamepads, forget, load, mappingOf, save, toSticks } from "./gamepad.js";
import { $, element, setText } from "./hud.js";
import { CHANNELS } from "./sticks.js";

const DETECTED = 0.5; // change of an axis that identifies it
const FULL = 0.25; // least range of an axis on each side that is accepted

const MOVES = {
  throttle: "Move the throttle stick fully up.",
  yaw: "Move the yaw stick fully to the right.",
  pitch: "Move the pitch stick fully forwards (up).",
  roll: "Move the roll stick fully to the right.",
};
const ORDER = ["throttle", "yaw", "pitch", "roll"];

/** The steps of a calibration: fed with axes and buttons, without a page or a device. */
export class Calibration {
  constructor() {
    this.step = "rest";
    this.channels = {};
    this.mode = null;
  }

  get text() {
    if (this.step === "rest") {
      return "Let go of the sticks; put a throttle without a spring fully down. Then press Next.";
    }
    if (this.step === "range") return "Move both sticks along all their edges. Then press Next.";
    if (this.step === "mode") return "Flip the switch, or press the button, that selects the mode.";
    return MOVES[this.step] ?? "";
  }

  /** True if Next is possible: else the step ends by a movement. */
  get waitsForNext() {
    return this.step === "rest" || this.step === "range";
  }

  /** Takes the current axes and buttons. Returns true if the step has changed. */
  feed(axes, buttons) {
    if (ORDER.includes(this.step)) return this.detect(axes);
    if (this.step === "range") this.extend(axes);
    if (this.step === "mode") return this.detectMode(axes, buttons);
    return false;
  }

  next(axes, buttons) {
    if (this.step === "rest") {
      this.centre = [...axes];
      this.step = ORDER[0];
    } else if (this.step === "range") {
      this.still = { axes: [...axes], buttons: buttons.map((button) => button.pressed) };
      this.step = "mode";
    } else if (this.step === "mode") {
      this.step = "done";
    }
  }

  detect(axes) {
    const used = Object.values(this.channels).map((item) => item.axis);
    let [best, size] = [-1, DETECTED];
    axes.forEach((value, axis) => {
      const change = Math.abs(value - this.centre[axis]);
      if (!used.includes(axis) && change > size) [best, size] = [axis, change];
    });
    if (best < 0) return false;
    const [centre, value] = [this.centre[best], axes[best]];
    this.channels[this.step] = {
      axis: best,
      min: Math.min(centre, value),
      centre,
      max: Math.max(centre, value),
      inverted: value < centre,
    };
    this.step = ORDER[ORDER.indexOf(this.step) + 1] ?? "range";
    return true;
  }

  extend(axes) {
    for (const item of Object.values(this.channels)) {
      item.min = Math.min(item.min, axes[item.axis]);
      item.max = Math.max(item.max, axes[item.axis]);
    }
  }

  detectMode(axes, buttons) {
    const used = Object.values(this.channels).map((item) => item.axis);
    const axis = axes.findIndex(
      (value, index) => !used.includes(index) && Math.abs(value - this.still.axes[index]) > DETECTED,
    );
    const button = buttons.findIndex((each, index) => each.pressed && !this.still.buttons[index]);
    if (axis < 0 && button < 0) return false;
    this.mode = button >= 0 ? { button } : { axis };
    this.step = "done";
    return true;
  }

  /** What is wrong with the measured ranges, or null. */
  get problem() {
    for (const name of ORDER) {
      const { min, centre, max } = this.channels[name];
      const oneSided = name === "throttle" && max - min > 2 * FULL;
      if (!oneSided && !(centre - min >= FULL && max - centre >= FULL)) {
        return `${name} moved to one side only. Calibrate again and move the sticks along all edges.`;
      }
    }
    return null;
  }

  mapping(deadband) {
    return { channels: this.channels, deadband, mode: this.mode };
  }
}

function bar(name) {
  const row = element("label", name);
  const meter = document.createElement("meter");
  Object.assign(meter, { min: -1, max: 1 });
  row.append(meter);
  return row;
}

/** Shows bars of named values from -1 to 1. */
function drawBars(holder, values) {
  const names = Object.keys(values).join();
  if (holder.dataset.names !== names) {
    holder.dataset.names = names;
    holder.replaceChildren(...Object.keys(values).map(bar));
  }
  const meters = holder.querySelectorAll("meter");
  Object.values(values).forEach((value, index) => { meters[index].value = value || 0; }); // NaN raises
}

/** The dialog; `changed()` is called after a mapping has been saved or removed. */
export class CalibrationDialog {
  constructor(changed) {
    this.changed = changed;
    this.dialog = $("calibration");
    this.calibration = null;
    this.result = "";
    $("calibration-start").addEventListener("click", () => this.start());
    $("calibration-next").addEventListener("click", () => this.next());
    $("calibration-skip").addEventListener("click", () => this.next());
    $("calibration-forget").addEventListener("click", () => this.forget());
    $("deadband").addEventListener("input", () => this.setDeadband());
    $("calibration-device").addEventListener("change", () => this.cancel());
    this.dialog.addEventListener("close", () => this.cancel());
  }

  get open() {
    return this.dialog.open;
  }

  get pad() {
    const index = $("calibration-device").value;
    return Gamepads.connected().find((pad) => String(pad.index) === index) ?? null;
  }

  show() {
    this.dialog.showModal();
    this.cancel();
    this.update();
  }

  /** Ends a calibration without a result; another device may have been selected. */
  cancel() {
    this.calibration = null;
    this.result = "";
    $("deadband").value = (this.pad && mappingOf(this.pad)?.deadband) ?? DEADBAND;
  }

  /** Lists the connected devices; when they change, a calibration is cancelled. */
  list() {
    const pads = Gamepads.connected();
    const select = $("calibration-device");
    const names = JSON.stringify(pads.map((pad) => [pad.index, pad.id, pad.axes.length]));
    if (select.dataset.names === names) return;
    const selected = select.value;
    select.dataset.names = names;
    select.replaceChildren(...pads.map((pad) => new Option(pad.id, pad.index)));
    if (pads.some((pad) => String(pad.index) === selected)) select.value = selected;
    this.cancel();
  }

  start() {
    if (!this.pad) return;
    this.result = "";
    this.calibration = new Calibration();
  }

  next() {
    if (!this.calibration || !this.pad) return;
    this.calibration.next(this.pad.axes, this.pad.buttons);
    this.finish();
  }

  finish() {
    if (this.calibration?.step !== "done") return;
    this.result = this.calibration.problem;
    if (!this.result) {
      const mapping = this.calibration.mapping(Number($("deadband").value));
      const isKept = save(this.pad.id, mapping);
      this.result = isKept ? "Saved in this browser." : "Expected a browser that allows local storage.";
      this.changed();
    }
    this.calibration = null;
  }

  forget() {
    if (!this.pad) return;
    forget(this.pad.id);
    this.result = "The calibration of this device is removed.";
    this.changed();
  }

  setDeadband() {
    const mapping = this.pad && load(this.pad.id);
    if (!mapping) return;
    mapping.deadband = Number($("deadband").value);
    save(this.pad.id, mapping);
    this.changed();
  }

  /** Follows the device; called once for each frame of the screen while the dialog is open. */
  update() {
    this.list();
    const { pad } = this;
    setText($("deadband-value"), Number($("deadband").value).toFixed(2));
    for (const id of ["device", "start", "forget"]) $(`calibration-${id}`).disabled = !pad;
    if (pad && this.calibration?.feed(pad.axes, pad.buttons)) this.finish();
    const mapping = pad && mappingOf(pad);
    const idle = mapping ? "Ready to fly." : "This device needs a calibration.";
    const none = pad ? "" : "No device. Connect one and press a button of it.";
    setText($("calibration-text"), none || this.calibration?.text || this.result || idle);
    $("calibration-next").hidden = !this.calibration?.waitsForNext;
    $("calibration-skip").hidden = this.calibration?.step !== "mode";
    const axes = [...(pad?.axes ?? [])].map((value, index) => [`${index}`, value]);
    drawBars($("calibration-axes"), Object.fromEntries(axes));
    const sticks = mapping ? toSticks(mapping, pad.axes) : {};
    if (mapping) sticks.throttle = 2 * sticks.throttle - 1;
    drawBars($("calibration-sticks"), Object.fromEntries(
      CHANNELS.filter((name) => name in sticks).map((name) => [name, sticks[name]]),
    ));
  }
}
