import { mkdir, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { settingsOn } from "../../src/cli/settings-source.js";
import { notComeUp, type RunState, notYetRun } from "../../src/cli/trial.js";
import type { Judged } from "../../src/config/fallback.js";
import { loadConfiguration } from "../../src/config/load.js";
import { identityOf } from "../../src/journal/lock.js";
import { msg } from "../../src/language/text.js";
import { readReturned, readTrial, writeTrial } from "../../src/saving/trial-record.js";
import { type FileSystem, nodeFileSystem } from "../../src/runtime/file-system.js";
import { tempDirectory } from "../journal/support/disk.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { cutAt } from "../saving/cut-disk.js";
import { VirtualClock } from "../support/virtual-clock.js";

const text = `platform: { business_url: "http://127.0.0.1:1", realtime_url: "http://127.0.0.1:2", token: !secret token }
polling: { sensors: 1m } # as agreed
`;

interface Place {
  readonly folder: string;
  readonly file: string;
  readonly text: () => Promise<string>;
}

async function placed(): Promise<Place> {
  const folder = await tempDirectory();
  const file = join(folder, "config.yaml");
  await mkdir(join(folder, "data"));
  await writeFile(file, text);
  await writeFile(join(folder, "secrets.yaml"), "token: canary-token-0001\n");
  return { folder, file, text: () => readFile(file, "utf8") };
}

/** What follows on the disk takes a while of its own. */
const patient = { timeout: 20_000 };

const runs: RunState = { ...notYetRun, runsForMs: 3_600_000 };
const fails = (failures: number): RunState => ({ ...notYetRun, failures, error: "the port is taken" });

/** A process that has this file; the trial of an earlier one is its own. */
function processOn({ folder, file }: Place, files?: FileSystem) {
  const clock = new VirtualClock();
  const { log, lines } = capturedLog();
  const seen = { now: runs };
  const readAgain: number[] = [];
  const story: string[] = [];
  const { source, trial } = settingsOn({
    file,
    env: {},
    load: (reads) => loadConfiguration(file, { env: {}, ...(reads && { readFile: reads }) }),
    dataDir: () => join(folder, "data"),
    readAgain: () => {
      readAgain.push(clock.now());
      return Promise.resolve(null);
    },
    seen: () => seen.now,
    goBack: () => {
      story.push("goes back");
      return true;
    },
    settle: () => void story.push("settled"),
    clock,
    log: () => log,
    ...(files && { files }),
  });
  /** The file is read again, and other keys than before take a new run. */
  const hangUp = async (judged: Partial<Judged> = { keys: ["polling.sensors"] }) => {
    await trial.edited({ isRefused: false, isKnown: false, keys: [], waiting: [], ...judged });
    await trial.tookUp();
  };
  const save = async (changes: Readonly<Record<string, unknown>>) => {
    const { etag } = await source.read();
    const saved = await source.save({ changes }, etag, { language: "en", admin: null });
    expect(saved.saved).toBe(true);
    source.takeUp(null);
    await clock.advance(300);
  };
  return { source, trial, clock, seen, readAgain, save, lines, story, hangUp };
}

/** Another process than this one has saved it. */
async function asOfAnother({ file }: Place): Promise<void> {
  const record = await readTrial(file);
  if (record !== null)
    await writeTrial(file, {
      ...record,
      by: { ...(await identityOf(process.pid)), pid: 4_194_303, started: "1" },
    });
}

const other = { "polling.sensors": "2m" };

describe("the trial of saved settings", () => {
  it("leaves them where the bridge comes up by them, and nothing beside the file", async () => {
    const place = await placed();
    const { clock, save, trial, seen, source } = processOn(place);
    const set = vi.fn();
    const bridge = {
      status: { facts: () => ({ platform: "online" }) },
      commands: { limits: { alarms: { set } } },
    } as never;
    seen.now = { ...runs, bridge };
    await save(other);
    expect(await readTrial(place.file)).toMatchObject({ keys: ["polling.sensors"], platform: "online" });
    expect(source.isOnTrial()).toBe(true);
    await clock.advance(61_000);
    await expect.poll(() => readTrial(place.file), patient).toBeNull();
    expect([await place.text(), trial.returned]).toEqual([text.replace("1m", "2m"), null]);
    // An alarm of settings that were taken back before is over.
    await expect
      .poll(() => set.mock.calls, patient)
      .toEqual([["settings_returned", expect.anything(), null]]);
  });

  it("takes them back after a minute where it does not, and tells that until others have come up", async () => {
    const place = await placed();
    const { clock, save, seen, trial, source, readAgain } = processOn(place);
    await save(other);
    seen.now = fails(5);
    await clock.advance(59_000);
    expect([await place.text(), readAgain.length]).toEqual([text.replace("1m", "2m"), 1]);
    await clock.advance(2_000);
    await expect.poll(place.text, patient).toBe(text);
    await expect.poll(() => readAgain.length, patient).toBe(2);
    expect(trial.returned).toMatchObject({
      reason: "the bridge did not start with them (the port is taken)",
      difference: expect.stringContaining("2m") as string,
    });
    expect(JSON.stringify(trial.returnedAlarm())).not.toContain("2m");
    const next = processOn(place);
    await next.trial.resume();
    await next.trial.recall();
    expect(next.trial.returned).toEqual(trial.returned);
    await next.save({ "polling.sensors": "3m" });
    await next.clock.advance(61_000);
    await expect.poll(() => next.trial.returned, patient).toBeNull();
    expect((await source.read()).returned).not.toBeNull();
    await expect.poll(() => readReturned(join(place.folder, "data")), patient).toBeNull();
  });

  it("does not count the time in which the computer was suspended", async () => {
    const place = await placed();
    const { clock, save, seen, trial } = processOn(place);
    await save(other);
    seen.now = notYetRun;
    await clock.advance(5_000);
    clock.stall(3_600_000);
    await clock.advance(30_000);
    expect([await place.text(), trial.isUnderWay]).toEqual([text.replace("1m", "2m"), true]);
    seen.now = runs;
    await clock.advance(30_000);
    await expect.poll(() => trial.isUnderWay, patient).toBe(false);
    expect([await place.text(), trial.returned]).toEqual([text.replace("1m", "2m"), null]);
  });

  describe("that was taken back is told until nobody has to see to it", () => {
    /** The next process, with the file as it was left there. */
    async function next(correct: (place: Place) => Promise<unknown>) {
      const place = await placed();
      const failed = processOn(place);
      await failed.save(other);
      failed.seen.now = fails(5);
      await failed.clock.advance(61_000);
      await expect.poll(place.text, patient).toBe(text);
      await expect.poll(() => failed.trial.isUnderWay, patient).toBe(false);
      await correct(place);
      const made = processOn(place);
      const alarm = { type: "settings_returned", state: "active" };
      const set = vi.fn();
      const bridge = {
        status: { facts: () => ({ platform: "online" }) },
        commands: { limits: { alarms: { set, list: [alarm] } } },
      } as never;
      made.seen.now = { ...notYetRun, runsForMs: null };
      await made.trial.resume();
      await made.trial.recall();
      await made.clock.advance(600_000);
      expect(made.trial.returned).not.toBeNull();
      made.seen.now = { ...runs, bridge };
      const over = [["settings_returned", { controller: null, actuator: null }, null]];
      return { ...made, alarm, set, over, place };
    }

    it("by a file that was corrected by hand, once the bridge has run by it", async () => {
      const { clock, trial, set, over, place } = await next(({ file }) =>
        writeFile(file, text.replace("1m", "3m")),
      );
      await clock.advance(61_000);
      await expect.poll(() => set.mock.calls, patient).toEqual(over);
      expect(trial.returnedAlarm()).toBeNull();
      expect(await readReturned(join(place.folder, "data"))).toBeNull();
    });

    it("by one that is corrected and read again while the bridge runs", async () => {
      const { clock, trial, set, over, place } = await next(() => Promise.resolve());
      await writeFile(place.file, text.replace("1m", "3m"));
      await clock.advance(7_200_000);
      expect(set).not.toHaveBeenCalled();
      await trial.tookUp();
      await clock.advance(121_000);
      await expect.poll(() => set.mock.calls, patient).toEqual(over);
    });

    it("who keeps the former one acknowledges it", async () => {
      const { clock, alarm, set, over } = await next(() => Promise.resolve());
      await clock.advance(7_200_000);
      alarm.state = "acknowledged";
      await clock.advance(3_590_000);
      expect(set).not.toHaveBeenCalled();
      await clock.advance(130_000);
      await expect.poll(() => set.mock.calls, patient).toEqual(over);
    });
  });

  it("takes two that were saved within it back as one", async () => {
    const place = await placed();
    const { clock, save, seen, trial } = processOn(place);
    await save(other);
    seen.now = fails(2);
    await clock.advance(30_000);
    await save({ "commands.read_only": true });
    seen.now = fails(9);
    await clock.advance(61_000);
    await expect.poll(place.text, patient).toBe(text);
    await expect.poll(() => trial.isUnderWay, patient).toBe(false);
  });

  it("leaves what somebody changed by hand meanwhile, which is told as not in force", async () => {
    const place = await placed();
    const { clock, save, seen, story } = processOn(place);
    await save(other);
    seen.now = fails(1);
    await writeFile(place.file, `${text}# by hand\n`);
    await clock.advance(61_000);
    await expect
      .poll(() => readReturned(join(place.folder, "data")), patient)
      .toMatchObject({ by_hand: true });
    expect([await place.text(), story.at(-1)]).toEqual([`${text}# by hand\n`, "goes back"]);
  });

  it("is none of what counts at once", async () => {
    const place = await placed();
    const { save, trial } = processOn(place);
    await save({ "commands.read_only": true });
    expect([trial.isUnderWay, await readTrial(place.file)]).toEqual([false, null]);
  });

  it("keeps the file before it, however often is saved within it", async () => {
    const place = await placed();
    const { clock, save, seen } = processOn(place);
    for (let at = 2; at < 16; at += 1) await save({ "polling.sensors": `${at}m` });
    seen.now = fails(1);
    await clock.advance(61_000);
    await expect.poll(place.text, patient).toBe(text);
  });

  it("goes on in the next process, with a minute of its own", async () => {
    const place = await placed();
    await processOn(place).save(other);
    await asOfAnother(place);
    const next = processOn(place);
    next.seen.now = notYetRun;
    expect(await next.trial.resume()).toBe(false);
    next.seen.now = fails(3);
    await next.clock.advance(61_000);
    await expect.poll(place.text, patient).toBe(text);
    await expect.poll(() => next.trial.returned, patient).not.toBeNull();
  });

  it("ends at the third start where no process lives for a minute with them", async () => {
    const place = await placed();
    await processOn(place).save(other);
    for (const isBack of [false, false, true]) {
      await asOfAnother(place);
      expect(await processOn(place).trial.resume()).toBe(isBack);
    }
    expect([await place.text(), await readTrial(place.file)]).toEqual([text, null]);
  });

  it("is none of a second process while the first one still runs", async () => {
    const place = await placed();
    await processOn(place).save(other);
    const record = await readTrial(place.file);
    if (record !== null) await writeTrial(place.file, { ...record, by: await identityOf(process.ppid) });
    const second = processOn(place);
    await second.trial.resume();
    expect([second.trial.isUnderWay, (await readTrial(place.file))?.starts]).toEqual([false, 0]);
  });

  it("ends at once where the file cannot be used at the next start", async () => {
    const place = await placed();
    await processOn(place).save(other);
    await asOfAnother(place);
    const next = processOn(place);
    await next.trial.resume();
    expect(await next.trial.refuse("no such variable")).toBe(true);
    expect(await place.text()).toBe(text);
    expect(await next.trial.refuse("no such variable")).toBe(false);
  });
});

/** It takes nothing more. */
const fullDisk: FileSystem = {
  ...nodeFileSystem,
  open: (path, flags, mode) =>
    flags === "r"
      ? nodeFileSystem.open(path, flags, mode)
      : Promise.reject(Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" })),
};

/** It takes what it is given once it is let go on. */
function hangingDisk() {
  const waiting: (() => void)[] = [];
  const disk = {
    hangs: false,
    goOn: () => {
      disk.hangs = false;
      for (const one of waiting) one();
    },
  };
  const files: FileSystem = {
    ...nodeFileSystem,
    open: async (path, flags, mode) => {
      if (disk.hangs && flags !== "r") await new Promise<void>((resolve) => waiting.push(resolve));
      return nodeFileSystem.open(path, flags, mode);
    },
  };
  return { disk, files };
}

describe("a trial that an earlier process has left keeps nobody from starting", () => {
  const last = { starts: 2 };
  const begun = { reason: "the bridge did not start by them" };
  const leave = async (place: Place, over: object, changes: Readonly<Record<string, string>> = other) => {
    await processOn(place).save(changes);
    await asOfAnother(place);
    const record = await readTrial(place.file);
    if (record === null) throw new Error("nothing is on trial");
    await writeTrial(place.file, { ...record, ...over });
    return record;
  };
  const errors = (lines: readonly string[]) => lines.filter((line) => line.startsWith("error "));

  it.each([
    ["at the third start", last],
    ["while it is taken back", begun],
  ])("where the former file is not there, and is none any more: %s", async (_, over) => {
    const place = await placed();
    const { kept } = await leave(place, over);
    await unlink(kept.file ?? "");
    const { trial, lines } = processOn(place);
    expect([await trial.resume(), trial.isUnderWay, await readTrial(place.file)]).toEqual([
      ...[false, false],
      null,
    ]);
    expect(errors(lines)).toEqual([expect.stringContaining("the file stays as it is")]);
    expect(await place.text()).toBe(text.replace("1m", "2m"));
  });

  it("where the former secrets alone are not there, and leaves the file that they belong to", async () => {
    const place = await placed();
    const { kept } = await leave(place, last, { ...other, "platform.token": "canary-token-0002" });
    const saved = await place.text();
    await unlink(kept.secrets ?? "");
    expect([await processOn(place).trial.resume(), await place.text()]).toEqual([false, saved]);
  });

  it("where the file cannot be used and the former one is not there", async () => {
    const place = await placed();
    const { kept } = await leave(place, {});
    await unlink(kept.file ?? "");
    const { trial } = processOn(place);
    await trial.resume();
    expect([await trial.refuse("no such variable"), await readTrial(place.file)]).toEqual([false, null]);
  });

  it("where the disk takes nothing, and goes back when it does again", async () => {
    const place = await placed();
    await leave(place, last);
    const { trial, lines } = processOn(place, fullDisk);
    expect([await trial.resume(), await place.text()]).toEqual([false, text.replace("1m", "2m")]);
    expect(errors(lines)).not.toEqual([]);
    expect([await processOn(place).trial.resume(), await place.text()]).toEqual([true, text]);
  });

  it("where the disk takes nothing, and it goes on", async () => {
    const place = await placed();
    await leave(place, {});
    const { trial, lines } = processOn(place, fullDisk);
    expect([await trial.resume(), trial.isUnderWay]).toEqual([false, true]);
    expect(errors(lines)).toEqual([expect.stringContaining("could not be kept for the next start")]);
  });
});

describe("a power cut while settings are saved", () => {
  it.each([
    ["a value", { "polling.sensors": "2m" }],
    ["another secret under its name", { "platform.token": "canary-token-0002" }],
    ["a value and another secret", { "polling.sensors": "2m", "platform.token": "canary-token-0002" }],
    [
      "a value and a new secret",
      { "mqtt.url": "mqtt://nas", "mqtt.username": "g", "mqtt.password": "hunter-two-2" },
    ],
    ["what is taken out", { polling: null }],
    ["what counts at once", { "commands.read_only": true, "polling.sensors": "3m" }],
    ["a name of another script", { "controllers.GH-0001.name": "东棚" }],
    ["a section", { "alarms.temperature": { low: 5, high: 35 }, "mqtt.url": "mqtt://nas" }],
  ])("leaves all of it or nothing at every step: %s", async (_, changes) => {
    const seen = { cuts: 0, old: 0, now: 0 };
    for (let count = 0, isWhole = false; !isWhole && count < 200; count += 1) {
      const place = await placed();
      const { files, calls } = cutAt(count);
      const { source } = processOn(place, files);
      const { etag: before } = await source.read();
      const saved = await source
        .save({ changes }, before, { language: "en", admin: null })
        .catch(() => ({ saved: false }));
      isWhole = calls() <= count;
      await asOfAnother(place);
      const next = processOn(place);
      await next.trial.resume();
      const loaded = await loadConfiguration(place.file, { env: {} });
      expect(loaded.ok ? [] : loaded.problems).toEqual([]);
      const { etag: after } = await next.source.read();
      const [now] = await wholeOf(changes);
      expect([count, [before, now]]).toEqual([count, expect.arrayContaining([after]) as unknown]);
      // What was answered as saved is there.
      if (saved.saved) expect([count, after]).toEqual([count, now]);
      seen.cuts += isWhole ? 0 : 1;
      if (after === before) seen.old += 1;
      else seen.now += 1;
    }
    expect([seen.cuts > 15, seen.old > 10, seen.now > 0]).toEqual([true, true, true]);
    process.stderr.write(`${seen.cuts} cuts: ${seen.old} old, ${seen.now} new\n`);
  });
});

/** What the files are once it is saved. */
async function wholeOf(changes: Readonly<Record<string, unknown>>): Promise<readonly [etag: string]> {
  const place = await placed();
  const { source, save } = processOn(place);
  await save(changes);
  return [(await source.read()).etag];
}

const up = {
  mayStandBy: false,
  runsForMs: 59_000,
  error: null,
  http: false,
  isPageOpen: false,
  wasPageOpen: false,
  platform: "online",
  platformBefore: "online",
  broker: "online",
  brokerBefore: "online",
  keys: ["platform.token"],
} as const;
const page = { host: "127.0.0.1", port: 80 } as never;

describe("settings come up", () => {
  it.each([
    ["where the bridge runs", {}, null],
    ["where the platform was away before", { platform: "unreachable", platformBefore: "unreachable" }, null],
    [
      "where a platform is away of which nothing was changed",
      { platform: "unreachable", keys: ["mirror"] },
      null,
    ],
    [
      "where the broker was away before",
      { broker: "connecting", brokerBefore: "connecting", keys: ["mqtt.url"] },
      null,
    ],
    ["where a broker is away of which nothing was changed", { broker: "connecting", keys: ["mirror"] }, null],
    ["where another member of the cluster runs the account", { runsForMs: null, mayStandBy: true }, null],
    ["where it runs calmly after an error", { error: "x", runsForMs: 30_000 }, null],
  ] as const)("%s", (_, seen, wanted) => {
    expect(notComeUp({ ...up, ...seen })).toBe(wanted);
  });

  it.each([
    ["no run is complete", { runsForMs: null }, "did not start"],
    ["a member does not start", { runsForMs: null, mayStandBy: true, error: "boom" }, "(boom)"],
    ["it ended a moment ago", { error: "boom", runsForMs: 3_000 }, "(boom)"],
    ["the page is gone", { http: page, wasPageOpen: true }, "port 80"],
    ["the new token is refused", { platform: "unauthorized" }, "refuses the credential"],
    ["the new host is not there", { platform: "unreachable" }, "not reached"],
    ["the new broker is not there", { broker: "connecting", keys: ["mqtt.url"] }, "online at the broker"],
  ] as const)("not where %s", (_, seen, wanted) => {
    expect(String(notComeUp({ ...up, ...seen }))).toContain(wanted);
  });
});

describe("a file that was edited by hand", () => {
  const edited = text.replace("1m", "2m");
  const why = "the bridge did not start with them (the port is taken); the file stays as it was edited";

  /** It was edited, and read again. */
  async function hungUp() {
    const place = await placed();
    const process = processOn(place);
    await process.trial.recall();
    await writeFile(place.file, edited);
    await process.hangUp();
    return { place, ...process };
  }

  /** Nothing comes up by it within the minute. */
  async function refused() {
    const hung = await hungUp();
    hung.seen.now = fails(1);
    await hung.clock.advance(61_000);
    await expect.poll(() => hung.trial.returned, patient).not.toBeNull();
    await expect.poll(() => readReturned(join(hung.place.folder, "data")), patient).not.toBeNull();
    return hung;
  }

  it("stays in force where the bridge comes up by it, and nothing is left beside it", async () => {
    const { place, clock, trial, story, source } = await hungUp();
    expect([trial.isOfSaved, source.isOnTrial()]).toEqual([false, true]);
    expect(await readTrial(place.file)).toMatchObject({ by_hand: true, keys: ["polling.sensors"] });
    await clock.advance(61_000);
    await expect.poll(() => trial.isUnderWay, patient).toBe(false);
    await expect.poll(() => readTrial(place.file), patient).toBeNull();
    expect([await place.text(), trial.returned, story.at(-1)]).toEqual([edited, null, "settled"]);
  });

  it("stays as it is where the bridge does not, which runs by the former one, with an alarm and both texts", async () => {
    const { place, trial, story, source } = await refused();
    expect([await place.text(), story.at(-1)]).toEqual([edited, "goes back"]);
    expect(trial.returned).toMatchObject({ reason: why, by_hand: true });
    expect(trial.returned?.difference).toMatch(/^-.*1m[^]*^\+.*2m/m);
    expect(trial.returnedAlarm()?.message).toMatch(/^The settings in the file .* are not in force: /);
    // Users that it names may be gone again.
    expect(source.isOnTrial()).toBe(true);
  });

  it("is judged once the account has started, whose turn in a fleet may come later than a minute", async () => {
    const { trial, clock, seen } = await hungUp();
    seen.now = { ...notYetRun, isYetToStart: true };
    await clock.advance(61_000);
    expect([trial.isUnderWay, trial.returned]).toEqual([true, null]);
    seen.now = runs;
    await clock.advance(60_000);
    await expect.poll(() => trial.isUnderWay, patient).toBe(false);
    expect(trial.returned).toBeNull();
  });

  it("of an account that is removed is over, and says nothing of a file that comes in its place", async () => {
    const { trial, clock, seen, story } = await hungUp();
    trial.end();
    seen.now = fails(1);
    await clock.advance(121_000);
    expect([trial.isUnderWay, trial.returned, story.includes("goes back")]).toEqual([false, null, false]);
  });

  it("goes back at once where a run by it ends by an error", async () => {
    const { place, trial } = await hungUp();
    await trial.fellBack("the port is taken");
    expect([String(trial.returned?.reason), await place.text()]).toEqual([why, edited]);
    expect(String((await readTrial(place.file))?.reason)).toBe(why);
  });

  it("that stayed so is told until another one runs, whoever has seen it", async () => {
    const { trial, clock, seen, place, hangUp } = await refused();
    const alarms = { set: vi.fn(), list: [{ type: "settings_returned", state: "acknowledged" }] };
    const status = { facts: () => ({ platform: "online" }) };
    seen.now = { ...runs, bridge: { status, commands: { limits: { alarms } } } as never };
    await hangUp({ isRefused: true });
    await clock.advance(2 * 3_600_000);
    expect(String(trial.returned?.reason)).toBe(why);
    await writeFile(place.file, text);
    await hangUp({ isKnown: true });
    await clock.advance(130_000);
    await expect.poll(() => trial.returned, patient).toBeNull();
    expect([trial.isUnderWay, await readTrial(place.file)]).toEqual([false, null]);
  });

  it("is tried once more by the next process, which knows what ran before", async () => {
    const { place } = await refused();
    await asOfAnother(place);
    const next = processOn(place);
    expect([await next.trial.resume(), await place.text()]).toEqual([false, edited]);
    const former = await next.trial.former();
    expect([former?.isRefused, former?.configuration.polling.sensors]).toEqual([false, 60_000]);
    await next.trial.recall();
    expect(next.trial.returned).toMatchObject({ reason: why, by_hand: true });
    await next.clock.advance(61_000);
    await expect.poll(() => next.trial.returned, patient).toBeNull();
    expect(await readTrial(place.file)).toBeNull();
  });

  it("that ended two processes within a minute is tried by none that follows", async () => {
    const { place } = await hungUp();
    for (const isRefused of [false, false, true, true]) {
      await asOfAnother(place);
      const next = processOn(place);
      await next.trial.resume();
      expect((await next.trial.former())?.isRefused).toBe(isRefused);
    }
    await writeFile(place.file, `${edited}# another\n`);
    await asOfAnother(place);
    const next = processOn(place);
    await next.trial.resume();
    expect([await next.trial.former(), await readTrial(place.file)]).toEqual([null, null]);
  });

  it("is not tried where what ran before is not there any more", async () => {
    const { place } = await refused();
    const { kept } = (await readTrial(place.file)) ?? {};
    await unlink(kept?.file ?? "");
    await asOfAnother(place);
    const { trial, lines } = processOn(place);
    await trial.resume();
    expect([await trial.former(), await readTrial(place.file)]).toEqual([null, null]);
    expect(lines.join("\n")).toContain("the bridge runs by the file as it is");
  });

  it("stays also where it was saved over within the minute, and both are told", async () => {
    const { place, save, clock, seen, trial, story } = await hungUp();
    await save({ "commands.max_age": "30s" });
    const both = await place.text();
    expect(both).toContain("max_age");
    seen.now = fails(2);
    await clock.advance(61_000);
    await expect.poll(() => readReturned(join(place.folder, "data")), patient).not.toBeNull();
    expect([await place.text(), story.at(-1)]).toEqual([both, "goes back"]);
    expect(trial.returned?.difference).toMatch(/2m[^]*max_age/);
  });

  it("is not tried again by what counts at once and is saved over it, and is by what takes a new run", async () => {
    const { place, save, clock, trial, story } = await refused();
    await save({ "commands.read_only": true });
    await clock.advance(120_000);
    expect((await readTrial(place.file))?.reason).not.toBeNull();
    const before = story.length;
    await save({ "polling.sensors": "3m" });
    expect((await readTrial(place.file))?.reason).toBeNull();
    expect([trial.isUnderWay, story.length]).toEqual([true, before]);
  });

  it("over settings that were saved a moment ago is left alone, and they are not put back", async () => {
    const place = await placed();
    const { save, trial, clock, seen, hangUp, story } = processOn(place);
    await trial.recall();
    await save(other);
    await writeFile(place.file, edited.replace("2m", "3m"));
    await hangUp();
    seen.now = fails(1);
    await clock.advance(61_000);
    await expect.poll(() => readReturned(join(place.folder, "data")), patient).not.toBeNull();
    expect([await place.text(), story.at(-1)]).toEqual([edited.replace("2m", "3m"), "goes back"]);
  });

  it("is not tried once it was taken up before the disk has answered, and neither is the one before it", async () => {
    const place = await placed();
    const { disk, files } = hangingDisk();
    const { trial, hangUp, clock, seen, story } = processOn(place, files);
    await trial.recall();
    await writeFile(place.file, edited);
    await hangUp();
    disk.hangs = true;
    await writeFile(place.file, edited.replace("2m", "3m"));
    const late = trial.edited({ isRefused: false, isKnown: false, keys: ["polling.sensors"], waiting: [] });
    await trial.tookUp();
    expect([trial.isUnderWay, story.at(-1)]).toEqual([false, "settled"]);
    disk.goOn();
    await late;
    seen.now = fails(1);
    await clock.advance(61_000);
    expect([trial.isUnderWay, trial.returned, story.includes("goes back")]).toEqual([false, null, false]);
  });

  it("is tried on where the file of another account was read again and the disk does not answer", async () => {
    const place = await placed();
    const { disk, files } = hangingDisk();
    const { trial, hangUp, clock, seen } = processOn(place, files);
    await trial.recall();
    await writeFile(place.file, edited);
    await hangUp();
    disk.hangs = true;
    const late = trial.edited({ isRefused: false, isKnown: false, keys: [], waiting: [] });
    await trial.tookUp();
    disk.goOn();
    await late;
    seen.now = fails(1);
    await clock.advance(61_000);
    await expect.poll(() => trial.returned, patient).toMatchObject({ reason: why });
    await expect.poll(() => readReturned(join(place.folder, "data")), patient).not.toBeNull();
  });

  it("is tried also where the disk takes nothing, and the next process runs by it as it is", async () => {
    const place = await placed();
    const { trial, hangUp, clock, seen, story } = processOn(place, fullDisk);
    await trial.recall();
    await writeFile(place.file, edited);
    await hangUp();
    seen.now = fails(1);
    await clock.advance(61_000);
    await expect.poll(() => story.at(-1), patient).toBe("goes back");
    expect([await place.text(), await readTrial(place.file)]).toEqual([edited, null]);
  });
});

describe("a file that was edited by hand and has mistakes", () => {
  const alarmsOf = (seen: { now: RunState }) => {
    const set: unknown[] = [];
    const alarms = {
      list: [],
      set: (type: string, _: unknown, message: string | null) => set.push([type, message]),
    };
    seen.now = { ...runs, bridge: { commands: { limits: { alarms } } } as never };
    return set;
  };

  it("is told on the page and as an alarm, without a word of what stands in it, until it was read again", async () => {
    const { trial, seen } = processOn(await placed());
    await trial.recall();
    const set = alarmsOf(seen);
    trial.mistaken(msg`config.yaml:2:3 polling.sensor: unknown key`);
    expect(trial.returned).toMatchObject({ by_hand: true, difference: "" });
    expect(String(trial.returned?.reason)).toBe(
      "it has mistakes (config.yaml:2:3 polling.sensor: unknown key)",
    );
    expect(trial.returnedAlarm()?.message).toContain("polling.sensor: unknown key");
    expect(set).toEqual([["settings_returned", trial.returnedAlarm()?.message]]);
    await trial.tookUp();
    expect([trial.returned, trial.returnedAlarm(), set.at(-1)]).toEqual([
      null,
      null,
      ["settings_returned", null],
    ]);
  });

  it("leaves what is told of settings that were taken back before", async () => {
    const place = await placed();
    const { save, clock, seen, trial } = processOn(place);
    await trial.recall();
    await save({ "polling.sensors": "2m" });
    seen.now = fails(1);
    await clock.advance(61_000);
    await expect.poll(() => readReturned(join(place.folder, "data")), patient).not.toBeNull();
    const before = trial.returned;
    trial.mistaken(msg`a mistake`);
    await trial.tookUp();
    expect(trial.returned).toEqual(before);
  });
});
