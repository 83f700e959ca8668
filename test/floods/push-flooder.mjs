// node push-flooder.mjs PORT PLATFORM SEED
// The realtime host of a platform: HTTP goes on to the port PLATFORM; channels of push are held by a process of their own, which says
// nothing until a line "flood KIND" comes in here, and floods each channel until a line "calm" comes.
import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import net from "node:net";
import { createInterface } from "node:readline";

const host = "127.0.0.1";

/** A frame of a server. */
function frame(opcode, payload, isFinal = true) {
  const bytes = Buffer.from(payload);
  const first = (isFinal ? 0x80 : 0) | opcode;
  const { length } = bytes;
  const head = length < 126 ? [first, length] : length < 65_536 ? [first, 126] : [first, 127];
  const size = Buffer.alloc(length < 126 ? 0 : length < 65_536 ? 2 : 8);
  if (size.length > 0) size.writeUIntBE(length, Math.max(0, size.length - 6), Math.min(6, size.length));
  return Buffer.concat([Buffer.from(head), size, bytes]);
}

const repeated = (piece, bytes = 65_536) =>
  Buffer.concat(Array.from({ length: Math.ceil(bytes / piece.length) }, () => piece));

/** Numbers in [0, 1) that follow from a seed. */
function drawing(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A frame of 0.5 to 1 MB: the text of as many items as that takes, in what stands around them. */
function large(draw, itemOf, around) {
  const size = 1_000_000 * (0.5 + draw() / 2);
  const items = [];
  for (let bytes = 0; bytes < size; bytes += items.at(-1).length + 1) items.push(itemOf(items.length, draw));
  return frame(1, around(items.join(",")));
}

const house = (draw) => `GH-${String(1 + Math.floor(draw() * 24)).padStart(4, "0")}`;
const ofOne = (draw) => (text) => `{"deviceCode":"${house(draw)}","data":[${text}]}`;

const value = (draw) =>
  JSON.stringify({
    deviceCode: house(draw),
    address: "300",
    value: "00000001",
  });
const kinds = {
  values: (draw) => repeated(frame(1, value(draw))),
  pings: (draw) => repeated(frame(9, "x".repeat(Math.floor(draw() * 100)))),
  empty: () => repeated(frame(1, "")),
  pieces: (draw) => repeated(frame(0, "x".repeat(Math.floor(draw() * 3)), false)),
  garbage: (draw) => Buffer.from(Array.from({ length: 65_536 }, () => Math.floor(draw() * 256))),
  "large-values": (draw) =>
    large(
      draw,
      (_, next) => value(next),
      (text) => `[${text}]`,
    ),
  "large-addresses": (draw) =>
    large(
      draw,
      (at) => `"${1_000 + at}":"0000${at}"`,
      (text) => `{"${house(draw)}":{${text}}}`,
    ),
  "large-items": (draw) => large(draw, (at) => `{"address":"${1_000 + at}","value":${at}}`, ofOne(draw)),
  "large-numbers": (draw) => large(draw, (at) => `{"deviceTypeNumber":${at},"status":1}`, ofOne(draw)),
  "large-names": (draw) => large(draw, (at) => `{"name":"fan ${at}","status":1}`, ofOne(draw)),
  "large-lists": (draw) => large(draw, () => "[[[[[]]]]]", ofOne(draw)),
  "large-longs": (draw) =>
    large(
      draw,
      (at) => `"a${at}":90071992547409${1_000 + (at % 9_000)}`,
      (text) => `{${text}}`,
    ),
};

function accepted(head) {
  const key = /sec-websocket-key: *(\S+)/i.exec(head)?.[1] ?? "";
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
  return `${lines.join("\r\n")}\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
}

function channels(draw) {
  const sockets = new Set();
  let kind = null;
  const pour = (socket) => {
    if (kind === null || socket.destroyed) return;
    // Once in each turn, so that a peer that reads fast leaves a turn for what calms.
    if (socket.write(kinds[kind](draw))) setImmediate(pour, socket);
    else socket.once("drain", () => pour(socket));
  };
  process.on("message", (said, socket) => {
    if (socket) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("data", () => undefined);
      socket.on("close", () => sockets.delete(socket));
      socket.write(accepted(said.head));
      if (kind === "pieces") socket.write(frame(1, "{", false));
      pour(socket);
      return;
    }
    kind = said.kind;
    for (const one of sockets) {
      if (kind === "pieces") one.write(frame(1, "{", false));
      pour(one);
    }
  });
  process.on("disconnect", () => process.exit(0));
}

function front(port, platform, seed) {
  const holder = fork(process.argv[1], ["channels", String(seed)]);
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (bytes) => {
      const head = bytes.toString("latin1");
      if (/^upgrade: websocket/im.test(head)) {
        socket.pause();
        holder.send({ head }, socket);
        return;
      }
      const far = net.connect({ port: platform, host, noDelay: true });
      far.on("error", () => socket.destroy());
      socket.on("close", () => far.destroy());
      far.on("close", () => socket.destroy());
      far.write(bytes);
      socket.pipe(far).pipe(socket);
    });
  });
  server.listen(port, host, () => console.log("listening"));
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const [order, kind = null] = line.split(" ");
    holder.send({ kind: order === "flood" ? kind : null });
  });
  lines.on("close", () => process.exit(0));
}

const [first = "", second = "0", third = "0"] = process.argv.slice(2);
if (first === "channels") channels(drawing(Number(second)));
else front(Number(first), Number(second), Number(third));
