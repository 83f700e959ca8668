import { expect, it } from "vitest";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import { bestEffortFile } from "../../src/runtime/file-system.js";
import { AddressesSeen } from "../../src/sync/addresses-seen.js";
import { actuator, controllerSettings } from "../support/builders.js";
import { mirrorSettings, polledMirror } from "../support/polled-mirror.js";
import { settled } from "../support/virtual-clock.js";

const stop = { address: "109", value: "1" };
const settings = mirrorSettings([controllerSettings({ code: "GH-0", actuators: [actuator({ stop })] })]);

/** What an earlier run wrote, and what this one does. */
function listening(text: string | null = null) {
  const { store, clock } = polledMirror({ settings });
  const events: BridgeEvent[] = [];
  const written: string[] = [];
  const problems: unknown[] = [];
  const memory = {
    read: () => Promise.resolve(text),
    write: (one: string) => {
      written.push(one);
      return Promise.resolve();
    },
  };
  const kept = bestEffortFile(memory, (error) => problems.push(error));
  const seen = new AddressesSeen(store, clock, kept, (event) => events.push(event));
  return { seen, events, written, problems, memory };
}
const told = (events: readonly BridgeEvent[]) => events.map(({ facts }) => facts?.["address"]);

it("an address that belongs to nothing is an event once, and its values are kept; configured ones and what is no address are neither", async () => {
  const { seen, events, written } = listening();
  for (const raw of ["1001", "1010", "1010"]) seen.see("GH-0", "317", raw);
  for (const address of ["101", "109", "a b", "../x"]) seen.see("GH-0", address, "10010");
  seen.see("NOBODY", "317", "1");
  await settled();
  expect(events).toMatchObject([
    { type: "address_seen", severity: "info", facts: { controller: "gh-0", address: "317", value: "1001" } },
  ]);
  expect(seen.list()).toMatchObject([{ address: "317", values: ["1001", "1010"] }]);
  expect(JSON.parse(written.at(-1) ?? "")).toMatchObject([{ address: "317", values: ["1001", "1010"] }]);
});

it("is known after a restart, and no event again; a file that is broken counts as none", async () => {
  const first = listening();
  first.seen.see("GH-0", "317", "1001");
  await settled();
  const second = listening(first.written.at(-1));
  await second.seen.restore();
  second.seen.see("GH-0", "317", "1010");
  expect(second.events).toEqual([]);
  expect(second.seen.list()).toMatchObject([{ values: ["1001", "1010"] }]);
  for (const text of [
    "",
    "{",
    "null",
    '[{"code":1}]',
    '[{"code":"GH-0","address":"1","values":[]}]',
    "[null]",
  ]) {
    const third = listening(text);
    await third.seen.restore();
    expect(third.seen.list()).toEqual([]);
  }
});

it("a disk that fails is told, and takes nothing from what is known", async () => {
  const one = listening();
  one.memory.read = () => Promise.reject(new Error("EIO"));
  one.memory.write = () => Promise.reject(new Error("ENOSPC"));
  await one.seen.restore();
  one.seen.see("GH-0", "317", "1001");
  await settled();
  expect(one.problems).toHaveLength(2);
  expect(one.seen.list()).toHaveLength(1);
});

it("a whole table that is pushed is no flood of events, and everything is in the list, by address", () => {
  const { seen, events } = listening();
  for (let n = 300; n > 0; n -= 1) seen.see("GH-0", String(1_000 + n), "1");
  expect(told(events)).toHaveLength(100);
  const listed = seen.list().map(({ address }) => address);
  expect([listed.length, listed[0], listed.at(-1)]).toEqual([300, "1001", "1300"]);
});
