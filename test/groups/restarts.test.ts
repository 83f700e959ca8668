import { describe, expect, it } from "vitest";
import type { CommandRequest } from "../../src/commands/command.js";
import type { GroupResult, GroupsAndScenes, Member } from "../../src/greenhouse/groups.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { restoreGroups } from "../../src/groups/restore.js";
import { GroupService } from "../../src/groups/service.js";
import type { FileSystem } from "../../src/runtime/file-system.js";
import type { Journal } from "../../src/journal/journal.js";
import { newestRecords } from "../../src/journal/reader.js";
import type { RecordBody } from "../../src/journal/records.js";
import type { Outbox } from "../../src/mqtt/outbox.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { openJournal, quickDisk, stillClock, tempDirectory } from "../journal/support/disk.js";
import { result, taken } from "../journal/support/samples.js";

/* A run of the program that ends at any moment, and the next one on the same journal. */

const roof = (code: string): Member => ({ code, controllerId: code.toLowerCase(), actuator: "roof" });
const members = [roof("EAST"), roof("WEST"), roof("NORTH")];
const target = { kind: "skylight", values: {} } as const;
const roofs: GroupsAndScenes = {
  groups: new Map([["roofs", { id: "roofs", name: "Roofs", members, target }]]),
  scenes: new Map(),
};
const nobody: GroupsAndScenes = { groups: new Map(), scenes: new Map() };

/** Written records, and what follows from them. */
async function settled(written: Set<Promise<unknown>>): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    if (written.size === 0) return;
    await Promise.allSettled(written);
  }
}

interface Told {
  readonly document: GroupResult;
  readonly isRepeated: boolean;
  readonly onDelivered?: (() => void) | undefined;
}

/** A disk that fails a moment to read. */
function flakyDisk() {
  const disk = { isBroken: false };
  const open: FileSystem["open"] = (...of) =>
    disk.isBroken
      ? Promise.reject(Object.assign(new Error("i/o error"), { code: "EIO" }))
      : quickDisk.open(...of);
  return { disk, files: { ...quickDisk, open } };
}

async function run(
  directory: string,
  clock = stillClock(),
  { groupsAndScenes = roofs, isUnreadable = false } = {},
) {
  const { disk, files } = flakyDisk();
  const journal = await openJournal(directory, { files, clock });
  journal.compareClock(() => 0);
  const written = new Set<Promise<unknown>>();
  const append: Journal["append"] = (...of) => {
    const one = journal.append(...of);
    written.add(one);
    void one.catch(() => null).then(() => written.delete(one));
    return one;
  };
  const asked: CommandRequest[] = [];
  const told: Told[] = [];
  const open = new Set<number>();
  const stop = new AbortController();
  let ids = 0;
  const tell = (document: object | string, isRepeated: boolean, onDelivered?: () => void) =>
    void told.push({ document: document as GroupResult, isRepeated, onDelivered });
  const deliveryOf = (sequence: number) => {
    open.add(sequence);
    return () => void open.delete(sequence);
  };
  const core = {
    groupsAndScenes: () => groupsAndScenes,
    topics: topicsUnder("greenhouse"),
    mirror: { store: { get: () => undefined, onChange: () => () => false } },
    commands: {
      commander: {
        submit: (request: CommandRequest) => {
          asked.push(request);
          return { id: request.givenId ?? "", isTaken: true };
        },
      },
      outbox: {
        send: ({ document, onDelivered }: Parameters<Outbox["send"]>[0]) =>
          tell(document, false, onDelivered),
        restore: ({ document, onDelivered }: Parameters<Outbox["send"]>[0]) =>
          tell(document, true, onDelivered),
      },
      keepResult: async (record: RecordBody, durable: boolean) =>
        deliveryOf(await append(record, { durable })),
      deliveryOf,
      onSurplus: () => undefined,
      unanswerable: () => undefined,
      receipts: { whenTaken: (_: unknown, take: () => unknown) => void take(), settle: () => undefined },
    },
    journal: { append, history: () => journal.history() },
    signal: stop.signal,
    retained: {
      wanted: () => undefined,
      unwanted: () => undefined,
      forget: () => undefined,
      repeat: () => undefined,
    },
    rules: () => ({ response_topics: [] }),
    clock,
  };
  const service = new GroupService(core, () => `new-${++ids}`);
  let leavesMarks = false;
  disk.isBroken = isUnreadable;
  const commands = { leaveDeliveryMarks: () => void (leavesMarks = true) };
  await restoreGroups(service, commands, { journal, clock });
  disk.isBroken = false;
  await settled(written);
  const send = (payload: string, isKept = false) =>
    service.submit({
      ...{ kind: "group", id: "roofs", payload: new TextEncoder().encode(payload), retained: false, isKept },
      ...{ expiryMs: null, by: "anna", via: null, response: null },
    });
  const write = async (body: Parameters<Journal["append"]>[0]) => {
    await append(body, { durable: false });
  };
  const about = (code: string) => ({ controller: code, actuator: "roof" });
  const end = async (
    code: string,
    id: string,
    over: Partial<CommandResult> = {},
    isJournaled = true,
    isRefusal = false,
  ) => {
    const ended = result(id, { controller: code.toLowerCase(), command: "20", ...over });
    if (isJournaled) await write({ type: "result", ...about(code), result: ended });
    const addressee = {
      code,
      controllerId: code.toLowerCase(),
      target: "actuator",
      targetId: "roof",
    } as const;
    service.result(ended, { ...addressee, response: null }, isRefusal);
    await settled(written);
  };
  const take = (code: string, id: string) => write(taken(id, about(code)));
  const die = async () => {
    stop.abort();
    await settled(written);
    await journal.close();
  };
  return {
    service,
    asked,
    told,
    open,
    leavesMarks,
    send,
    end,
    take,
    die,
    journal,
    write,
    settled: () => settled(written),
  };
}

describe("a command to a group that the end of the program cut off", () => {
  it("has its one result from the next start, with members that ended before, end after it, or were never asked", async () => {
    const directory = await tempDirectory();
    const first = await run(directory);
    first.send('{"command":20,"id":"x"}');
    for (const code of ["EAST", "WEST"]) await first.take(code, `x/${code.toLowerCase()}/roof`);
    await first.end("EAST", "x/east/roof");
    await first.die();
    expect(first.told).toEqual([]);

    const next = await run(directory);
    expect(next.asked).toEqual([]);
    expect(next.told).toEqual([]);
    expect(next.service.find("x")).toMatchObject({
      id: "x",
      ended: [{ controller: "east" }, { controller: "north" }],
    });
    await next.end("WEST", "x/west/roof", { outcome: "unconfirmed", message: "Not shown." });
    expect(next.told).toHaveLength(1);
    expect(next.told[0]?.document).toMatchObject({
      ...{ id: "x", group: "roofs", command: "20", by: "anna", outcome: "unconfirmed", repeated: false },
      missed: ["west/roof", "north/roof"],
      members: [
        { controller: "east", outcome: "confirmed" },
        { controller: "west", outcome: "unconfirmed", message: "Not shown." },
        { controller: "north", outcome: "refused", reason: "shutting_down", command: "20" },
      ],
    });
    expect(next.service.find("x")).toMatchObject({ outcome: "unconfirmed" });
  });

  it("of which every member had ended is told at once, and a stop of which nothing is known is not known", async () => {
    const directory = await tempDirectory();
    const first = await run(directory);
    first.send('{"command":"stop","id":"x"}');
    await first.end("EAST", "x/east/roof");
    await first.die();
    const next = await run(directory);
    expect(next.told.map(({ document }) => document)).toMatchObject([
      { id: "x", outcome: "unknown", missed: ["west/roof", "north/roof"] },
    ]);
  });

  it("is told where the configuration has the group no more", async () => {
    const directory = await tempDirectory();
    const first = await run(directory);
    first.send('{"command":20,"id":"x"}');
    await first.die();
    const next = await run(directory, stillClock(), { groupsAndScenes: nobody });
    expect(next.told.map(({ document }) => document)).toMatchObject([
      { id: "x", group: "roofs", outcome: "refused", reason: "shutting_down" },
    ]);
  });

  it("is open over several starts and files, and the answer to a repetition of a member's is not its end", async () => {
    const directory = await tempDirectory();
    const first = await run(directory);
    first.send("20");
    const id = "new-1/east/roof";
    for (const code of ["EAST", "WEST", "NORTH"]) await first.take(code, `new-1/${code.toLowerCase()}/roof`);
    const refusal = result(id, { controller: "east", outcome: "refused", reason: "duplicate" });
    await first.write({ type: "refusal", controller: "EAST", actuator: "roof", result: refusal });
    await first.write({ type: "carried", ...first.journal.history() });
    await first.end("WEST", "new-1/west/roof");
    await first.die();
    const second = await run(directory);
    await second.end("EAST", id, { reason: "duplicate", outcome: "refused" }, false, true);
    await second.end("NORTH", "new-1/north/roof");
    await second.die();
    expect(second.told).toEqual([]);
    const third = await run(directory);
    await third.end("EAST", id);
    expect(third.told.map(({ document }) => document)).toMatchObject([{ id: "new-1", outcome: "confirmed" }]);
  });

  it("has of a member that was refused at the door just that, and not that it was never asked", async () => {
    const directory = await tempDirectory();
    const first = await run(directory);
    first.send('{"command":20,"id":"x"}');
    await first.take("EAST", "x/east/roof");
    for (const [code, reason] of [
      ["EAST", "bad_payload"],
      ["WEST", "duplicate"],
      ["WEST", "overloaded"],
    ] as const) {
      const controller = code.toLowerCase();
      const told = result(`x/${controller}/roof`, { controller, outcome: "refused", reason });
      await first.write({ type: "refusal", controller: code, actuator: "roof", result: told });
    }
    await first.die();
    const next = await run(directory);
    expect(next.told).toEqual([]);
    await next.end("EAST", "x/east/roof");
    expect(next.told.map(({ document }) => document.members)).toMatchObject([
      [{ outcome: "confirmed" }, { reason: "duplicate" }, { reason: "shutting_down" }],
    ]);
  });

  it("is told as unknown where more was open than the journal carries on", async () => {
    const directory = await tempDirectory();
    const first = await run(directory);
    first.send('{"command":20,"id":"x"}');
    await first.settled();
    const members = Array.from({ length: 2_000 }, (_, n) => {
      return { controller: "EAST", actuator: "roof", id: `m${n}`, command: "20" };
    });
    for (const group of first.journal.history().groups ?? [])
      await first.write({ type: "group_taken", group: { ...group, id: "y", members } });
    await first.die();
    const next = await run(directory);
    const told = next.told.map(({ document }) => document);
    expect(told.find(({ id }) => id === "x")).toMatchObject({ outcome: "unknown", members: [] });
    expect(told.find(({ id }) => id === "y")?.members).toHaveLength(2_000);
  });
});

describe("a command to a group that had ended", () => {
  const whole = async (directory: string, clock = stillClock()) => {
    const first = await run(directory, clock);
    first.send('{"command":20,"id":"x"}');
    for (const { controllerId, code } of members) await first.end(code, `x/${controllerId}/roof`);
    return first;
  };

  it("is repeated as such until it is known to have arrived, and then no more", async () => {
    const directory = await tempDirectory();
    const first = await whole(directory);
    expect(first.told.map(({ isRepeated }) => isRepeated)).toEqual([false]);
    const [sequence = 0] = first.open;
    await first.die();
    const second = await run(directory);
    expect(second.told).toMatchObject([{ isRepeated: true, document: { id: "x", outcome: "confirmed" } }]);
    expect([...second.open]).toEqual([sequence]);
    second.told[0]?.onDelivered?.();
    expect([...second.open]).toEqual([]);
    await second.write({ type: "delivered", through: sequence });
    await second.die();
    const third = await run(directory);
    expect(third.told).toEqual([]);
    const asked = { types: new Set(["group_ended"] as const), limit: 1 };
    const ofId = async (id: string) => newestRecords(directory, { ...asked, id });
    expect(await ofId("x")).toMatchObject([{ group: { told: { id: "x", outcome: "confirmed" } } }]);
    expect(await ofId("y")).toEqual([]);
  });

  it("is repeated where the configuration has the group no more, and later where it cannot be read now", async () => {
    const directory = await tempDirectory();
    await (await whole(directory)).die();
    const second = await run(directory, stillClock(), { groupsAndScenes: nobody, isUnreadable: true });
    expect([second.told, second.leavesMarks]).toEqual([[], true]);
    await second.die();
    const third = await run(directory, stillClock(), { groupsAndScenes: nobody });
    expect(third.told).toMatchObject([{ isRepeated: true, document: { id: "x" } }]);
    expect(third.leavesMarks).toBe(false);
  });

  it("is a duplicate for 12 h after it, over restarts, and no member is asked again", async () => {
    const directory = await tempDirectory();
    const clock = stillClock();
    await (await whole(directory, clock)).die();
    await clock.advance(11 * 3_600_000);
    const second = await run(directory, clock);
    expect(second.send('{"command":20,"id":"x"}').refused).toMatchObject({
      ...{ reason: "duplicate", original: { id: "x", outcome: "confirmed" } },
    });
    expect(second.send('{"command":30,"id":"x"}').refused).toMatchObject({ reason: "bad_payload" });
    expect(second.service.find("x")).toMatchObject({ outcome: "confirmed" });
    expect(second.service.lastOf("group", "roofs")).toMatchObject({ reason: null });
    expect(second.asked).toEqual([]);
    await second.die();
    await clock.advance(2 * 3_600_000);
    const third = await run(directory, clock);
    expect(third.send('{"command":20,"id":"x"}').refused).toBeNull();
    expect(third.asked).toHaveLength(3);
  });

  it("and that a broker gives once more is known, with an id and without, and nobody is told twice", async () => {
    const directory = await tempDirectory();
    const first = await run(directory);
    first.send("20");
    await first.die();
    const next = await run(directory);
    expect(next.told).toHaveLength(1);
    expect(next.send("20", true)).toEqual({ id: "new-1", refused: null });
    expect(next.asked).toEqual([]);
    expect(next.send("30", true).id).not.toBe("new-1/east/roof");
    expect(next.asked).toHaveLength(3);
  });
});

describe("what a journal that cannot be written does not have", () => {
  it("is told at once, as no next start would tell it", async () => {
    const directory = await tempDirectory();
    const first = await run(directory);
    await first.journal.close();
    first.send('{"command":"stop","id":"x"}');
    for (const { controllerId, code } of members) await first.end(code, `x/${controllerId}/roof`, {}, false);
    expect(first.told).toHaveLength(1);
  });

  it("is held back where the next start would tell it", async () => {
    const directory = await tempDirectory();
    const first = await run(directory);
    first.send('{"command":20,"id":"x"}');
    await first.settled();
    await first.journal.close();
    for (const { controllerId, code } of members) await first.end(code, `x/${controllerId}/roof`, {}, false);
    expect(first.told).toEqual([]);
    expect(first.service.find("x")).toMatchObject({ id: "x", kind: "group" });
  });

  it("of more than 60 a minute is not asked to keep the rest", async () => {
    const directory = await tempDirectory();
    const first = await run(directory);
    for (let n = 0; n < 100; n += 1) first.send(`{"command":20,"id":"n${n}"}`);
    await first.settled();
    expect(first.journal.history().groups).toHaveLength(60);
    expect(first.asked).toHaveLength(300);
  });
});
