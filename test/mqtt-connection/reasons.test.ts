import { describe, expect, it } from "vitest";
import { describeEnd, type LinkFacts } from "../../src/mqtt/connection/reasons.js";

const facts: LinkFacts = {
  broker: "mqtt://broker:1883",
  version: 5,
  opened: false,
  connected: false,
  ended: false,
  closedBecause: null,
  refusal: null,
  serverDisconnect: null,
  error: null,
};
const coded = (code: string) => Object.assign(new Error(`${code} happened`), { code });

describe("why a link ended", () =>
  it.each([
    [
      "wrong credentials, 3.1.1",
      { opened: true, refusal: 4 },
      "refused",
      "check mqtt.username and mqtt.password",
    ],
    [
      "wrong credentials, 5",
      { opened: true, refusal: 0x86 },
      "refused",
      "check mqtt.username and mqtt.password",
    ],
    ["an id not let in", { opened: true, refusal: 5 }, "refused", "access list"],
    ["a broker starting", { opened: true, refusal: 3 }, "refused", "starting or overloaded"],
    ["quota, 5", { opened: true, refusal: 0x97 }, "refused", "quota"],
    ["an unknown code", { opened: true, refusal: 250 }, "refused", "code 250"],
    ["nobody listening", { error: coded("ECONNREFUSED") }, "unreachable", "is the broker running"],
    ["an unknown name", { error: coded("ENOTFOUND") }, "unreachable", "check the host in mqtt.url"],
    [
      "a self-signed certificate",
      { error: coded("DEPTH_ZERO_SELF_SIGNED_CERT") },
      "unreachable",
      "mqtt.tls.ca",
    ],
    [
      "a wrong web server",
      { error: new Error("Unexpected server response: 404") },
      "unreachable",
      "HTTP 404",
    ],
    ["no CONNACK", { opened: true, error: new Error("connack timeout") }, "silent", "is this an MQTT broker"],
    ["a close before the CONNACK", { opened: true }, "closed_early", "without an answer"],
    [
      "a reset before the CONNACK",
      { opened: true, error: coded("ECONNRESET") },
      "closed_early",
      "without an answer",
    ],
    ["a reset before anything stood", { error: coded("ECONNRESET") }, "unreachable", "reset"],
    [
      "a dead link",
      { connected: true, error: new Error("Keepalive timeout") },
      "lost",
      "no longer answers pings",
    ],
    ["a close", { connected: true }, "lost", "closed the connection"],
    ["a take-over", { connected: true, serverDisconnect: 0x8e }, "taken_over", "mqtt.client_id"],
    ["a shutdown", { connected: true, serverDisconnect: 0x8b }, "lost", "shutting down"],
    ["an own decision", { connected: true, closedBecause: "deaf" }, "lost", "deaf"],
    ["a wanted end", { connected: true, ended: true }, "ended", "ended by us"],
  ] as const)("is told for %s", (_, some, kind, words) => {
    const end = describeEnd({ ...facts, ...some });
    expect(end.kind).toBe(kind);
    expect(end.reason).toContain(words);
  }));
