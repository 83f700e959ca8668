import { describe, expect, it } from "vitest";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { ResultOutbox, type ResultAddress } from "../../src/mqtt/result-outbox.js";
import { topicsUnder } from "../../src/mqtt/topics.js";

const address: ResultAddress = {
  controllerId: "east",
  target: "actuator",
  targetId: "fan",
  response: null,
};

const result = (id: string): CommandResult => ({
  ...{ id, controller: "east", actuator: "fan", command: "on", value: "1010" },
  ...{ outcome: "confirmed", reason: null, message: null, request_id: null, by: null, via: null },
  ...{ steps: [], read_back: "1010", received_at: "", sent_at: "", finished_at: "", duration_ms: 0 },
  repeated: false,
});

function outbox() {
  const link = { isUp: false };
  const told: string[] = [];
  const delivered: string[] = [];
  const publisher = {
    publish: (topic: string, payload: string) => {
      const { id, repeated } = JSON.parse(payload) as CommandResult;
      if (!link.isUp) return Promise.reject(new Error("the broker is away"));
      if (topic.endsWith("/fan/result")) told.push(`${id} ${repeated ? "repeated" : "new"}`);
      return Promise.resolve();
    },
  };
  const made = new ResultOutbox(topicsUnder("greenhouse"), publisher, () => 0);
  const arrived = (id: string) => () => {
    delivered.push(id);
  };
  const connect = async () => {
    link.isUp = true;
    made.connected();
    await settled();
  };
  return { made, link, told, delivered, arrived, connect };
}

/** Lets every promise that can resolve by itself do so. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a result", () => {
  it("made before the first link goes out with it, once and as new", async () => {
    const { made, told, delivered, arrived, connect } = outbox();
    made.send(result("early"), address, arrived("early"));
    await settled();
    expect(told).toEqual([]);
    await connect();
    await connect();
    expect(told).toEqual(["early new"]);
    expect(delivered).toEqual(["early"]);
  });

  it("of an earlier run goes out with the first link, once and as repeated, and is told to have arrived", async () => {
    const { made, told, delivered, arrived, connect } = outbox();
    made.restore(result("old"), address, arrived("old"));
    await connect();
    await connect();
    expect(told).toEqual(["old repeated"]);
    expect(delivered).toEqual(["old"]);
  });

  it("that met a dead broker follows with the next link as repeated", async () => {
    const { made, link, told, delivered, arrived, connect } = outbox();
    await connect();
    made.send(result("first"), address, arrived("first"));
    await settled();
    link.isUp = false;
    made.send(result("lost"), address, arrived("lost"));
    await settled();
    expect(delivered).toEqual(["first"]);
    await connect();
    expect(told).toEqual(["first new", "lost repeated"]);
    expect(delivered).toEqual(["first", "lost"]);
  });
});
