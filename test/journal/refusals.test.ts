import { describe, expect, it } from "vitest";
import { RefusalBook } from "../../src/journal/refusals.js";
import { manualClock } from "./support/manual-clock.js";
import { refused } from "./support/samples.js";
import { tempDirectory } from "./support/temp-directory.js";
import { openJournal, recordsIn } from "./support/test-journal.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function book() {
  const clock = manualClock();
  const journal = await openJournal(await tempDirectory());
  const refusals = new RefusalBook(journal, clock);
  const stop = new AbortController();
  const running = refusals.run(stop.signal);
  const records = async () =>
    (await recordsIn(journal.directory)).map((record) =>
      record.type === "refusals_counted"
        ? `${record.controller ?? "all"}/${record.actuator ?? "all"} ${record.count} ${JSON.stringify(record.reasons)}`
        : record.type,
    );
  return { clock, refusals, records, stop: () => (stop.abort(), running) };
}

describe("refusals", () => {
  it("up to 60 a minute and actuator have a record each; what is more is one record with a count", async () => {
    const { clock, refusals, records, stop } = await book();
    for (let n = 0; n < 500; n += 1)
      await refusals.record(refused(`${n}`, n % 4 === 0 ? "no_age" : "expired"));
    expect(await records()).toEqual(Array.from({ length: 60 }, () => "refusal"));
    clock.advance(60_000);
    while ((await records()).length < 61) await turn();
    expect((await records()).slice(60)).toEqual(['GH-0001/roof 440 {"no_age":110,"expired":330}']);
    await stop();
  });

  it("of another actuator are counted for themselves", async () => {
    const { refusals, records, stop } = await book();
    for (let n = 0; n < 61; n += 1) await refusals.record(refused(`${n}`, "expired"));
    await refusals.record({ ...refused("other", "expired"), actuator: "vent" });
    expect(await records()).toHaveLength(61);
    await stop();
  });

  it("have records of their own again in the next minute, after the count of the last", async () => {
    const { clock, refusals, records, stop } = await book();
    for (let n = 0; n < 70; n += 1) await refusals.record(refused(`${n}`, "expired"));
    clock.advance(60_000);
    await refusals.record(refused("next", "expired"));
    expect((await records()).slice(60)).toEqual(['GH-0001/roof 10 {"expired":10}', "refusal"]);
    await stop();
  });

  it("still only counted when the bridge stops are written then", async () => {
    const { refusals, records, stop } = await book();
    for (let n = 0; n < 65; n += 1) await refusals.record(refused(`${n}`, "expired"));
    await stop();
    expect((await records()).slice(60)).toEqual(['GH-0001/roof 5 {"expired":5}']);
  });

  it("of endless invented names share one count", async () => {
    const { refusals, records, stop } = await book();
    for (let n = 0; n < 3_000; n += 1)
      await refusals.record({ ...refused(`${n}`, "unknown_actuator"), actuator: `invented ${n}` });
    await stop();
    const written = await records();
    expect(written).toHaveLength(1_061);
    expect(written.at(-1)).toBe('all/all 1940 {"unknown_actuator":1940}');
  });
});
