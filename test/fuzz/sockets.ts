import net from "node:net";
import { type Chance } from "./chance.js";
import type { Case } from "./mutation.js";

export interface Ports {
  readonly tcp: number;
  readonly websocket: number;
}

const answerWithinMs = 120;
const pingAnswer = Buffer.from([0xd0, 0]);

/** Sends a case over a socket of its own; resolves when there was an answer, an end, or nothing for a while. */
export function play(one: Case, ports: Ports, chance: Chance): Promise<void> {
  const socket = net.connect({
    port: one.transport === "tcp" ? ports.tcp : ports.websocket,
    host: "127.0.0.1",
    noDelay: true,
  });
  return new Promise((resolve) => {
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      if (one.ending === "reset") socket.resetAndDestroy();
      else if (one.ending === "half_close") socket.end();
      setImmediate(() => {
        socket.destroy();
        resolve();
      });
    };
    socket.on("error", over).on("close", over).setTimeout(answerWithinMs, over);
    const send = () => void sendAll(socket, one, chance);
    if (one.transport === "websocket") {
      socket.write(upgrade(one, chance));
      socket.once("data", send);
      if (!one.soundFrames) socket.once("connect", send);
    } else socket.once("connect", send);
    socket.on("data", (data) => {
      if (data.includes(pingAnswer)) over();
    });
  });
}

async function sendAll(socket: net.Socket, one: Case, chance: Chance): Promise<void> {
  for (const piece of one.pieces) {
    if (socket.destroyed || !socket.writable) return;
    socket.write(one.transport === "websocket" ? frame(piece, one.soundFrames, chance) : piece);
    // One turn of the loop, so that pieces arrive as pieces.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const headerLies = [
  "Upgrade: h2c",
  "Sec-WebSocket-Version: 99",
  "Sec-WebSocket-Protocol: ,,,",
  "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=99",
  "Content-Length: 99999999",
  "Origin: http://evil.example",
  `X: ${"y".repeat(20_000)}`,
];

function upgrade({ soundFrames }: Case, chance: Chance): string {
  const lines = [
    "GET /mqtt HTTP/1.1",
    "Host: 127.0.0.1",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol: mqtt",
  ];
  if (!soundFrames && chance.oneIn(2)) lines.push(chance.from(headerLies));
  if (!soundFrames && chance.oneIn(4)) lines.splice(chance.upTo(lines.length), 1);
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** A masked frame; an unsound one has any opcode, flags and length. */
export function frame(piece: Buffer, isSound: boolean, chance: Chance): Buffer {
  const mask = chance.bytes(4);
  const masked = piece.map((byte, n) => byte ^ (mask[n % 4] ?? 0));
  const length =
    piece.length < 126
      ? [piece.length]
      : piece.length < 65_536
        ? [126, piece.length >> 8, piece.length & 255]
        : [127, 0, 0, 0, 0, 0, (piece.length >> 16) & 255, (piece.length >> 8) & 255, piece.length & 255];
  const head = [0x82, (length[0] ?? 0) | 0x80, ...length.slice(1)];
  if (!isSound && chance.oneIn(2)) head[0] = chance.upTo(256);
  if (!isSound && chance.oneIn(4)) head.splice(1, head.length - 1, 0xff, 0x7f, ...chance.bytes(7));
  if (!isSound && chance.oneIn(4)) head[1] = (head[1] ?? 0) & 0x7f;
  return Buffer.concat([Buffer.from(head), Buffer.from(mask), masked]);
}
