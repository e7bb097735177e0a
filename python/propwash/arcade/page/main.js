// A minimal page: shows the images and their numbers; W, S, A, D and the arrow keys move the sticks.
const canvas = document.getElementById("image");
const text = document.getElementById("text");
const socket = new WebSocket(new URL("socket", location.href.replace("http", "ws")));
socket.binaryType = "arraybuffer";
const held = new Set();
let number = 0;

function send(message) {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function sendSticks() {
  const axis = (plus, minus) => held.has(plus) - held.has(minus);
  number += 1;
  send({
    type: "input",
    number,
    mode: "assisted",
    sticks: [
      axis("ArrowRight", "ArrowLeft"),
      axis("ArrowUp", "ArrowDown"),
      axis("KeyD", "KeyA"),
      0.5 + 0.5 * axis("KeyW", "KeyS"),
    ],
  });
}

socket.onmessage = async ({ data }) => {
  if (typeof data === "string") {
    console.log(data);
    return;
  }
  const length = new DataView(data).getUint32(0, true);
  const hud = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
  const image = await createImageBitmap(new Blob([new Uint8Array(data, 4 + length)]));
  canvas.width = image.width;
  canvas.height = image.height;
  canvas.getContext("2d").drawImage(image, 0, 0);
  send({ type: "shown", frame: hud.frame });
  text.textContent = JSON.stringify(hud, null, 1);
};
for (const [event, change] of [["keydown", "add"], ["keyup", "delete"]]) {
  addEventListener(event, (key) => {
    held[change](key.code);
    if (event === "keydown" && key.code === "KeyR") send({ type: "reset" });
    sendSticks();
  });
}
setInterval(sendSticks, 50);
