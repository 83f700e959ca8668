import { createSocket } from "node:dgram";
import { once } from "node:events";
import { onTestFinished } from "vitest";

/** A host's addresses of both families, or silence for one of them. */
export interface Zone {
  readonly a?: readonly string[] | "silent";
  readonly aaaa?: readonly string[] | "silent";
}

const types = { 1: "a", 28: "aaaa" } as const;

const isAsked = (type: number): type is keyof typeof types => type in types;

/** The question in a packet: its name, type and end. */
function questionOf(packet: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = packet.readUInt8(at); length > 0; length = packet.readUInt8(at)) {
    labels.push(packet.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: packet.readUInt16BE(at + 1), end: at + 5 };
}

const bytesOf = (address: string): Buffer =>
  address.includes(".")
    ? Buffer.from(address.split(".").map(Number))
    : Buffer.from(
        address === "::1" ? "00000000000000000000000000000001" : address.replaceAll(":", "").padEnd(32, "0"),
        "hex",
      );

function answerTo(packet: Buffer, zone: Zone | undefined): Buffer | null {
  const { type, end } = questionOf(packet);
  const has = zone !== undefined && isAsked(type) ? (zone[types[type]] ?? []) : [];
  if (has === "silent") return null;
  const header = Buffer.from(packet.subarray(0, 12));
  header.writeUInt16BE(zone === undefined ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(has.length, 6);
  header.writeUInt32BE(0, 8);
  const records = has.map((address) => {
    const data = bytesOf(address);
    const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]);
    return Buffer.concat([record, data]);
  });
  return Buffer.concat([header, packet.subarray(12, end), ...records]);
}

/**
 * A name server on loopback with real packets. Names missing in `zones` do not exist; with null it never answers.
 * Rejects if this user may not use the port.
 */
export async function nameServer(
  zones: Readonly<Record<string, Zone>> | null,
  at: { readonly address?: string; readonly port?: number } = {},
) {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  const state = { zones };
  socket.on("message", (packet, { port, address }) => {
    const { name } = questionOf(packet);
    asked.push(name);
    const answer = state.zones === null ? null : answerTo(packet, state.zones[name]);
    if (answer !== null) socket.send(answer, port, address);
  });
  socket.bind(at.port ?? 0, at.address ?? "127.0.0.1");
  await once(socket, "listening");
  onTestFinished(() => void socket.close());
  return {
    /** In the form that resolvers expect. */
    server: `127.0.0.1:${socket.address().port}`,
    asked,
    /** Replaces its zones; null for silence. */
    now: (next: Readonly<Record<string, Zone>> | null) => (state.zones = next),
  };
}
