import { expect, it } from "vitest";
import { VirtualClock } from "../support/virtual-clock.js";
import { Chance } from "./chance.js";
import { SimulatedDisk } from "./disk.js";
import { WallClock, WorldTime } from "./time.js";

const lineOf = (by: string) => `{"type":"result","result":{"by":"${by}"}}\n`;

it("a whole line that a cut off write left on a full disk is there", async () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 40; seed += 1) {
    const time = new WorldTime();
    const wall = new WallClock(time, 0);
    const disk = new SimulatedDisk(time, wall, new Chance(seed, "disk"));
    const files = disk.mount(new VirtualClock());
    const file = await files.open("/data/journal", "a", 0o600);
    disk.full = true;
    await expect(file.write(Buffer.from(lineOf("r1") + lineOf("r2")))).rejects.toThrow("ENOSPC");
    const bytes = new Uint8Array(1_000);
    const left = Buffer.from(bytes.subarray(0, await file.read(bytes, 0))).toString();
    for (const by of ["r1", "r2"]) expect(disk.written.has(`result ${by}`)).toBe(left.includes(lineOf(by)));
    seen.add([...disk.written].join());
  }
  expect([...seen].sort()).toEqual(["", "result r1"]);
});
