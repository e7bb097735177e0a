// Numbers over the image, the marker of the next gate, and the panel in the centre.

const ELLIPSE = [0.4, 0.28]; // of the image's size: where an arrow points to a gate outside
export const $ = (id) => document.getElementById(id);

/** m:ss.cc */
export function clock(seconds) {
  const hundredths = Math.round(seconds * 100);
  const minutes = Math.floor(hundredths / 6000);
  const rest = ((hundredths % 6000) / 100).toFixed(2).padStart(5, "0");
  return `${minutes}:${rest}`;
}

export function signed(seconds) {
  return `${seconds < 0 ? "−" : "+"}${Math.abs(seconds).toFixed(2)}`;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

/** Fills a list with rows of cells, if they have changed. */
function fill(list, rows, tag, cells) {
  const key = JSON.stringify(rows);
  if (list.dataset.rows === key) return;
  list.dataset.rows = key;
  list.replaceChildren(...rows.map((row) => {
    const made = element(tag);
    made.append(...cells(row));
    return made;
  }));
}

function drawTarget(hud, width, height) {
  $("outline").setAttribute("points", hud.outline.map((point) => point.join()).join(" "));
  const [arrow, dot] = [$("arrow"), $("dot")];
  arrow.setAttribute("visibility", "hidden");
  dot.setAttribute("visibility", "hidden");
  if (!hud.target) return;
  const [u, v, inFront] = hud.target;
  if (inFront && u >= 0 && u <= width && v >= 0 && v <= height) {
    dot.setAttribute("transform", `translate(${u} ${v})`);
    dot.setAttribute("visibility", "visible");
    return;
  }
  const angle = Math.atan2(v - height / 2, u - width / 2);
  const x = width / 2 + ELLIPSE[0] * width * Math.cos(angle);
  const y = height / 2 + ELLIPSE[1] * height * Math.sin(angle);
  arrow.setAttribute("transform", `translate(${x} ${y}) rotate(${(angle * 180) / Math.PI})`);
  arrow.setAttribute("visibility", "visible");
}

function drawStick(circle, across, up) {
  circle.setAttribute("cx", 44 * across);
  circle.setAttribute("cy", -44 * up);
}

/** Shows the numbers of an image. */
export function drawHud(hud, size) {
  setText($("clock"), clock(hud.race_time));
  setText($("gates"), `${hud.passed.length} / ${hud.gates}`);
  setText($("next-gate"), hud.guide && `next: ${hud.guide}`);
  setText($("speed"), hud.speed.toFixed(1));
  setText($("height"), hud.height.toFixed(1));
  setText($("mode"), hud.mode);
  $("scale").hidden = hud.scale === 1;
  setText($("scale"), `${hud.scale}×`);
  const compared = hud.ghosts.filter(([, seconds]) => seconds !== null);
  fill($("ghost-times"), compared, "div", ([name, seconds]) => [
    element("span", name),
    element("b", signed(seconds), seconds > 0 ? "slower" : "faster"),
  ]);
  fill($("splits"), hud.passed.slice(-8), "li", ([name, time]) => [
    element("span", name),
    element("b", clock(time)),
  ]);
  const [roll, pitch, yaw, throttle] = hud.sticks;
  drawStick($("stick-left"), yaw, 2 * throttle - 1);
  drawStick($("stick-right"), roll, pitch);
  drawTarget(hud, ...size);
}

/** Shows images per second and latency. */
export function drawRates(rate, latency) {
  const delay = latency === null ? "–" : latency.toFixed(0);
  setText($("rates"), `${rate.toFixed(0)} images/s · ${delay} ms`);
}

/** Shows the panel in the centre, or hides it: { kind, title, text, numbers, log, button }. */
export function drawMessage(message) {
  const panel = $("message");
  panel.hidden = !message;
  if (!message) return;
  panel.dataset.kind = message.kind;
  setText($("message-title"), message.title);
  setText($("message-text"), message.text ?? "");
  setText($("message-log"), message.log ? `Log: ${message.log}` : "");
  setText($("message-button"), message.button ?? "");
  $("message-button").hidden = !message.button;
  fill($("message-numbers"), message.numbers ?? [], "div", ([name, value]) => [
    element("dt", name),
    element("dd", value),
  ]);
}

/** Shows the task of the lesson, or hides it: { text, step, progress }. */
export function drawTask(task) {
  $("task").hidden = !task;
  if (!task) return;
  setText($("task-step"), task.step);
  setText($("task-text"), task.text);
  $("task-progress").value = task.progress;
}

let noticeTimer = 0;

/** Shows a line for some seconds; kind: "wrong", "loading", which remains, or empty. */
export function notice(text, kind = "") {
  $("notice").textContent = text;
  $("notice").className = kind;
  $("notice").hidden = false;
  clearTimeout(noticeTimer);
  if (kind === "loading") return;
  noticeTimer = setTimeout(() => { $("notice").hidden = true; }, 6000);
}
