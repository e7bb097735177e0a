// The course from above: x to the right, y up.

const HALF = 50; // of the view box
const MARGIN = 8;
const NAMESPACE = "http://www.w3.org/2000/svg";

function shape(tag, attributes, className = "") {
  const made = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.setAttribute("class", className);
  return made;
}

/** Direction of the x axis of an attitude, seen from above [rad]. */
function yaw([w, x, y, z]) {
  return Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z));
}

export class CourseMap {
  constructor(svg) {
    this.svg = svg;
    this.gates = [];
    this.vehicle = shape("path", { d: "M6,0L-4,4L-2,0L-4,-4Z" }, "vehicle");
  }

  /** Shows the gates of a course, each with a mark on the side to which it is passed. */
  course({ gates, start }) {
    const places = [start, ...gates.map((gate) => gate.position)];
    const range = [0, 1].map((axis) => {
      const values = places.map((place) => place[axis]);
      return [Math.min(...values), Math.max(...values)];
    });
    this.centre = range.map(([low, high]) => (low + high) / 2);
    const extent = Math.max(...range.map(([low, high]) => high - low), 4);
    this.scale = (2 * (HALF - MARGIN)) / extent;
    this.gates = gates.map((gate) => {
      const half = Math.max(3, (gate.width * this.scale) / 2);
      return shape("path", {
        d: `M0,${-half}V${half}M0,0H4`,
        transform: this.pose(gate.position, yaw(gate.attitude)),
      });
    });
    this.svg.replaceChildren(...this.gates, this.vehicle);
  }

  pose(position, angle) {
    const [x, y] = this.point(position);
    return `translate(${x.toFixed(2)} ${y.toFixed(2)}) rotate(${((-angle * 180) / Math.PI).toFixed(1)})`;
  }

  /** On the map; points outside are at its edge. */
  point(position) {
    const [x, y] = [0, 1].map((axis) => {
      const value = (position[axis] - this.centre[axis]) * this.scale;
      return Math.min(HALF - 3, Math.max(3 - HALF, value));
    });
    return [x, -y];
  }

  /** Moves the vehicle, and marks the next gate and those passed. */
  draw(hud) {
    if (!this.centre) return;
    this.vehicle.setAttribute("transform", this.pose(hud.position, yaw(hud.attitude)));
    const next = hud.passed.length;
    this.gates.forEach((gate, index) => {
      const state = index === next ? "next" : index < next ? "passed" : "";
      if (gate.getAttribute("class") !== state) gate.setAttribute("class", state);
    });
  }
}
