// The WebSocket: messages out; text messages and images with their numbers in.

const RETRY = 1000; // ms between attempts

/** Separates an image message: uint32 length, JSON of that length, JPEG. */
export function decode(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const hud = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return { hud, jpeg: new Blob([new Uint8Array(buffer, 4 + length)], { type: "image/jpeg" }) };
}

export class Connection {
  /**
   * Handlers: `message(object)` for a text message, `image(hud, bitmap)`, `changed(connected)`.
   */
  constructor(handlers) {
    this.handlers = handlers;
    this.socket = null;
    this.waiting = null; // the newest image that is not decoded yet
    this.decoding = false;
    this.open();
  }

  get connected() {
    return this.socket !== null && this.socket.readyState === WebSocket.OPEN;
  }

  open() {
    const url = new URL("socket", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => this.handlers.changed(true));
    socket.addEventListener("message", (event) => this.receive(event.data));
    socket.addEventListener("close", () => {
      this.waiting = null;
      this.handlers.changed(false);
      setTimeout(() => this.open(), RETRY);
    });
  }

  send(type, fields = {}) {
    if (this.connected) this.socket.send(JSON.stringify({ type, ...fields }));
    return this.connected;
  }

  receive(data) {
    if (typeof data === "string") {
      this.handlers.message(JSON.parse(data));
      return;
    }
    this.waiting = decode(data); // replaces an older one: an acknowledgement includes older images
    if (!this.decoding) this.show();
  }

  async show() {
    this.decoding = true;
    while (this.waiting) {
      const { socket, waiting: { hud, jpeg } } = this;
      this.waiting = null;
      try {
        const bitmap = await createImageBitmap(jpeg);
        this.handlers.image(hud, bitmap);
        bitmap.close();
      } catch (error) {
        reportError(error); // the next images are shown all the same
      }
      if (socket === this.socket) this.send("shown", { frame: hud.frame });
    }
    this.decoding = false;
  }
}
