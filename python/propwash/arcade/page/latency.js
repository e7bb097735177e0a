// Time from a key or stick event to the image that shows an effect of it.

const KEPT = 200;

export class Latency {
  constructor() {
    this.pending = []; // { number, time }: inputs without an image yet
    this.values = []; // ms
  }

  /** The input of this number was caused by an event at `time` (ms, of performance.now()). */
  sent(number, time) {
    this.pending.push({ number, time });
    if (this.pending.length > KEPT) this.pending.shift();
  }

  /** An image is drawn in which the input of this number has acted. */
  drawn(number) {
    const shown = this.pending.filter((input) => input.number <= number);
    if (!shown.length) return;
    this.pending = this.pending.filter((input) => input.number > number);
    requestAnimationFrame(() => {
      const now = performance.now();
      for (const input of shown) this.values.push(now - input.time);
      this.values.splice(0, Math.max(0, this.values.length - KEPT));
    });
  }

  /** Drops inputs that no image can show: after a pause or a lost connection. */
  clear() {
    this.pending = [];
  }

  get median() {
    if (!this.values.length) return null;
    const sorted = [...this.values].sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
}
