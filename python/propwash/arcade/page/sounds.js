// Short sounds of events. The browser remembers whether they are muted.

const STORE = "propwash-arcade-muted";
const VOLUME = 0.15;
const NOTES = { // [frequency in Hz, start and length in s, wave]
  gate: [[880, 0, 0.1, "sine"], [1320, 0.09, 0.2, "sine"]],
  wrong: [[196, 0, 0.16, "sawtooth"], [147, 0.16, 0.3, "sawtooth"]],
  task: [[660, 0, 0.1, "sine"], [990, 0.09, 0.15, "sine"]],
  take_off: [[330, 0, 0.12, "sine"]],
  countdown: [[660, 0, 0.1, "triangle"]],
  finished: [[784, 0, 0.15, "sine"], [988, 0.14, 0.15, "sine"], [1175, 0.28, 0.4, "sine"]],
  collided: [[82, 0, 0.4, "sawtooth"], [61, 0.05, 0.5, "square"]],
};

/** Names of the sounds for what happened between two images of a flight. */
export function soundsOf(before, hud) {
  if (!before || hud.time < before.time) return []; // of another flight
  const names = [];
  if (hud.phase !== before.phase) {
    if (hud.phase === "flying") names.push("take_off");
    else if (hud.phase in NOTES) names.push(hud.phase);
  }
  if (hud.passed.length > before.passed.length && hud.phase !== "finished") names.push("gate");
  else if (hud.task !== before.task) names.push("task");
  if (hud.wrong && hud.wrong.time !== before.wrong?.time) names.push("wrong");
  return names;
}

export class Sounds {
  constructor() {
    this.muted = false;
    this.played = []; // names, for tests
    this.context = null;
    try {
      this.muted = localStorage.getItem(STORE) === "true";
    } catch {
      // the browser keeps nothing
    }
  }

  /** Browsers allow sounds after a key or a click: call it there. */
  unlock() {
    if (!this.muted) this.context ??= new AudioContext();
  }

  mute(muted) {
    this.muted = muted;
    try {
      localStorage.setItem(STORE, String(muted));
    } catch {
      // the browser keeps nothing
    }
  }

  play(name) {
    if (this.muted || !this.context) return;
    this.played = [...this.played.slice(-99), name];
    for (const [frequency, start, length, type] of NOTES[name]) {
      const at = this.context.currentTime + start;
      const tone = new OscillatorNode(this.context, { frequency, type });
      const gain = new GainNode(this.context);
      gain.gain.setValueAtTime(VOLUME, at);
      gain.gain.exponentialRampToValueAtTime(0.001, at + length);
      tone.connect(gain).connect(this.context.destination);
      tone.start(at);
      tone.stop(at + length);
    }
  }
}
