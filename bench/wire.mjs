// The minimum of MQTT 3.1.1 for counting. A whole client library would compete with the bridge for the processor.
import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

const text = (value) => {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
};

function packet(head, ...parts) {
  const body = Buffer.concat(parts);
  const length = [];
  let rest = body.length;
  do {
    length.push((rest % 128) | (rest > 127 ? 128 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Buffer.concat([Buffer.from([head, ...length]), body]);
}

/** Subscribes with QoS 0 and counts live messages; retained messages are not counted. */
export class Counter {
  messages = 0;
  bytes = 0;
  lastAt = 0;
  /** The number of retained messages. */
  retained = 0;
  /** Called with topic and payload text of each; only for few messages. */
  onMessage = null;
  #socket;
  #rest = Buffer.alloc(0);
  #onFirst = null;
  #acknowledged = 0;

  /** `filters` are subscribed before this resolves. */
  static async open(port, filters) {
    const counter = new Counter();
    await counter.#open(port, filters);
    return counter;
  }

  reset() {
    this.messages = 0;
    this.bytes = 0;
  }

  /** With `qos` 1 it does not wait for the acknowledgement. */
  publish(topic, payload, qos = 0) {
    const id = qos === 0 ? Buffer.alloc(0) : Buffer.from([0, 1]);
    this.#socket.write(packet(0x30 | (qos << 1), text(topic), id, Buffer.from(payload)));
  }

  /** performance.now() of the next message. */
  next() {
    return new Promise((resolve) => (this.#onFirst = resolve));
  }

  /** Until `expected` messages have come, or none for `quietMs`. */
  async until(expected, quietMs) {
    const began = performance.now();
    while (this.messages < expected) {
      if (performance.now() - Math.max(this.lastAt, began) > quietMs) return;
      await wait(2);
    }
  }

  async quiet(quietMs) {
    const began = performance.now();
    while (performance.now() - Math.max(this.lastAt, began) < quietMs) await wait(20);
  }

  close() {
    this.#socket.destroy();
  }

  async #open(port, filters) {
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true });
    let failed = false;
    this.#socket.on("error", () => (failed = true));
    this.#socket.on("data", (chunk) => this.#take(chunk));
    const id = `count-${Math.random().toString(36).slice(2)}`;
    this.#socket.write(packet(0x10, text("MQTT"), Buffer.from([4, 2, 0, 0]), text(id)));
    const wanted = filters.map((filter) => Buffer.concat([text(filter), Buffer.from([0])]));
    this.#socket.write(packet(0x82, Buffer.from([0, 1]), ...wanted));
    const deadline = performance.now() + 5_000;
    while (this.#acknowledged < 2) {
      if (failed || performance.now() > deadline) throw new Error(`no broker answers on port ${port}`);
      await wait(5);
    }
  }

  #take(chunk) {
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    let at = 0;
    for (;;) {
      const end = endOfPacket(data, at);
      if (end === null || end > data.length) break;
      this.#packet(data[at], data.subarray(at, end));
      at = end;
    }
    this.#rest = data.subarray(at);
  }

  #packet(head, whole) {
    if (head >> 4 === 2 || head >> 4 === 9) this.#acknowledged += 1;
    if (head >> 4 !== 3) return;
    if ((head & 1) === 1) {
      this.retained += 1;
      this.lastAt = performance.now();
      return;
    }
    this.messages += 1;
    this.bytes += whole.length;
    this.lastAt = performance.now();
    this.#onFirst?.(this.lastAt);
    this.#onFirst = null;
    if (this.onMessage !== null) this.onMessage(...messageIn(whole));
  }
}

/** Topic and payload of a QoS 0 PUBLISH. */
function messageIn(whole) {
  let place = 1;
  while ((whole[place] & 128) !== 0) place += 1;
  const topicAt = place + 3;
  const topicEnd = topicAt + whole.readUInt16BE(place + 1);
  return [whole.toString("utf8", topicAt, topicEnd), whole.toString("utf8", topicEnd)];
}

function endOfPacket(data, start) {
  let length = 0;
  for (let place = 1, factor = 1; place <= 4; place += 1, factor *= 128) {
    const byte = data[start + place];
    if (byte === undefined) return null;
    length += (byte & 127) * factor;
    if (byte < 128) return start + place + 1 + length;
  }
  throw new Error("the broker sent something that is not MQTT");
}
