// The panel with course, vehicle, ghosts, modes and leader board.

import { $, clock, element, setText } from "./hud.js";

const MODES = { acro: "Acro", angle: "Angle", assisted: "Assisted" };
const nameOf = (title) => title.split(":")[0];
const GHOSTS = { best: "Best flight", pilot: "Built-in pilot", policy: "Trained policy" };

function options(select, entries) {
  select.replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
}

function mark(group, value) {
  for (const button of $(group).querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.value === String(value)));
  }
}

/** Calls `act(value)` for a button of a group. */
function onChoice(group, act) {
  $(group).addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) act(button.value);
  });
}

export class Menu {
  /** Actions: select(settings), mode(name), camera(view), clock(scale), reset(), pause(). */
  constructor(actions) {
    this.form = $("settings");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      actions.select(this.settings);
    });
    this.form.elements.course.addEventListener("change", () => this.describe());
    onChoice("mode-choice", actions.mode);
    onChoice("camera-choice", actions.camera);
    onChoice("clock-choice", (value) => actions.clock(Number(value)));
    $("reset").addEventListener("click", actions.reset);
    $("pause").addEventListener("click", actions.pause);
    $("open-menu").addEventListener("click", () => this.toggle());
  }

  get settings() {
    const fields = this.form.elements;
    const ghosts = [...$("ghosts").querySelectorAll("input:checked")].map((box) => box.value);
    return {
      course: fields.course.value,
      vehicle: fields.vehicle.value,
      seed: Number(fields.seed.value),
      ghosts,
    };
  }

  toggle(open = $("menu").hidden) {
    $("menu").hidden = !open;
    $("open-menu").setAttribute("aria-expanded", String(open));
  }

  /** What can be chosen. */
  hello(message) {
    const fields = this.form.elements;
    this.titles = new Map(message.courses.map((course) => [course.name, course.title]));
    options(fields.course, message.courses.map(({ name, title }) => [name, nameOf(title)]));
    options(fields.vehicle, message.vehicles.map((name) => [name, name]));
    this.loaded = null;
    const kinds = message.ghosts;
    $("ghosts").replaceChildren($("ghosts").firstElementChild, ...kinds.map((kind) => {
      const label = element("label", GHOSTS[kind] ?? kind);
      const box = document.createElement("input");
      Object.assign(box, { type: "checkbox", value: kind });
      label.prepend(box);
      return label;
    }));
    $("mode-choice").replaceChildren(...message.modes.map((mode, index) => {
      const button = element("button", `${MODES[mode] ?? mode} `);
      Object.assign(button, { type: "button", value: mode });
      button.append(element("kbd", String(index + 1)));
      return button;
    }));
  }

  /** The settings of the flight. */
  course(message) {
    const settings = JSON.stringify([message.name, message.vehicle, message.seed]);
    if (settings !== this.loaded) this.fill(message);
    this.loaded = settings; // else a ghost is ready: what is being chosen remains
    const ghosts = message.ghosts.length ? ` · ghosts: ${message.ghosts.join(", ")}` : "";
    setText($("flight-title"), `${nameOf(message.title)} · ${message.vehicle} · seed ${message.seed}${ghosts}`);
  }

  fill(message) {
    const fields = this.form.elements;
    if (!this.titles.has(message.name)) {
      this.titles.set(message.name, message.title);
      fields.course.add(new Option(nameOf(message.title), message.name));
    }
    fields.course.value = message.name;
    this.describe();
    fields.vehicle.value = message.vehicle;
    fields.seed.value = message.seed;
  }

  /** Shows what follows the name in the title of the chosen course. */
  describe() {
    const title = this.titles.get(this.form.elements.course.value) ?? "";
    setText($("course-about"), title.slice(nameOf(title).length + 2));
  }

  /** Marks what is in use; the watcher's controls are disabled. */
  state({ mode, view, scale, paused, pilot }) {
    mark("mode-choice", mode);
    mark("camera-choice", view);
    mark("clock-choice", scale);
    $("pause").setAttribute("aria-pressed", String(paused));
    for (const control of $("menu").querySelectorAll("button, select, input")) {
      control.disabled = !pilot;
    }
  }

  /** Shows the leader board; log: the file of the newest flight. */
  board(message, log) {
    setText($("board-title"), `${message.course} · seed ${message.seed}`);
    const rows = message.entries.map((entry, index) => {
      const row = element("tr", "", log?.endsWith(entry.log) ? "latest" : "");
      const cells = [index + 1, entry.name, entry.gates, clock(entry.race_time), entry.score.toFixed(2)];
      row.append(...cells.map((cell) => element("td", String(cell))));
      row.title = [entry.vehicle, entry.mode, entry.date].filter(Boolean).join(" · ");
      return row;
    });
    if (!rows.length) {
      const row = element("tr");
      const cell = element("td", "no flights yet");
      cell.colSpan = 5;
      row.append(cell);
      rows.push(row);
    }
    $("board").tBodies[0].replaceChildren(...rows);
  }
}
