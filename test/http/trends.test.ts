import { readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Controller, Quality, Sensor } from "../../src/greenhouse/model.js";
import { nightsOf, TrendKeeper, type TrendParts } from "../../src/http/trends.js";
import { pack, unpack } from "../../src/http/trend-block.js";
import { nodeFileSystem } from "../../src/runtime/file-system.js";
import { tempFolder } from "../mqtt-connection/support.js";
import { VirtualClock } from "../support/virtual-clock.js";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

interface Shown {
  readonly value: number | null;
  readonly quality: Quality;
}

const good = (value: number): Shown => ({ value, quality: "good" });

interface SceneOptions extends Partial<
  Pick<TrendParts, "files" | "isSending" | "isClockRight" | "mostBytes" | "timeOf">
> {
  readonly clock?: VirtualClock;
  readonly directory?: string;
  readonly sensors?: number;
}

async function scene(options: SceneOptions = {}) {
  const { clock = new VirtualClock(), sensors = 1, directory = await folder() } = options;
  const shown: Shown[] = Array.from({ length: sensors }, () => good(0));
  const controllers = () => {
    const map = new Map<string, Sensor>();
    for (const [at, one] of shown.entries())
      map.set(`s${at}`, { ...one, definition: { id: `s${at}`, numeric: true } } as unknown as Sensor);
    return [{ info: { id: "c" }, sensors: map } as unknown as Controller];
  };
  const problems: string[] = [];
  const keeper = new TrendKeeper({
    clock,
    timeOf: (realMs) => realMs,
    everyMs: 30_000,
    controllers,
    directory,
    files: nodeFileSystem,
    isSending: () => false,
    isClockRight: () => true,
    onProblem: (problem) => problems.push(problem),
    ...options,
  });
  const minutes = async (count: number, one: (at: number) => Shown) => {
    for (let at = 0; at < count; at += 1) {
      shown.fill(one(at));
      await clock.advance(minuteMs);
      keeper.sample();
    }
  };
  const points = async (count: number) => {
    const { sensors: found } = await keeper.of("c", ["s0"], null, 1_440);
    return (found["s0"] ?? []).slice(-count);
  };
  const start = () => {
    const stop = new AbortController();
    const ended = keeper.run(stop.signal, { attempt: (run) => run() });
    return async () => {
      stop.abort();
      await clock.advance(0);
      await ended;
    };
  };
  return { clock, keeper, minutes, points, shown, directory, problems, start };
}

const folder = async (): Promise<string> => join(await tempFolder(), "trends");

const sizeOf = async (directory: string) => {
  const names = await readdir(directory);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
  return sizes.reduce((sum, one) => sum + one, 0);
};

describe("the trend of a sensor", () => {
  it("is a point a minute, with a gap where nothing good was known", async () => {
    const { minutes, points } = await scene();
    await minutes(1, () => good(20.5));
    await minutes(1, () => ({ value: 21, quality: "uncertain" }));
    await minutes(1, () => ({ value: 21, quality: "stale" }));
    await minutes(1, () => ({ value: 99, quality: "bad" }));
    await minutes(1, () => good(22));
    expect(await points(6)).toEqual([null, 20.5, 21, null, null, 22]);
  });

  it("has gaps where nobody looked", async () => {
    const { clock, minutes, points } = await scene();
    await minutes(1, () => good(1));
    await clock.advance(3 * minuteMs);
    await minutes(1, () => good(2));
    expect(await points(5)).toEqual([1, null, null, null, 2]);
  });

  it("shows the last value of each part of a time, of which as few points come as were asked for", async () => {
    const { keeper, minutes, clock } = await scene();
    await minutes(60, good);
    const until = clock.now();
    const { step_s: step, sensors } = await keeper.of("c", ["s0"], { since: until - hourMs, until }, 4);
    expect([step, sensors["s0"]?.length]).toEqual([16 * 60, 4]);
    expect(sensors["s0"]?.at(-1)).toBe(59);
  });

  it("is told of several controllers at once as of each by itself, and those that are unknown have none", async () => {
    const { keeper, minutes } = await scene({ sensors: 2 });
    await minutes(130, (at) => good(20 + at / 10));
    await keeper.write(null);
    const wanted = new Map([
      ["c", ["s1"]],
      ["nobody", ["s0"]],
    ]);
    const { controllers, ...of } = await keeper.ofAll(wanted, null, 48);
    const { sensors, ...alone } = await keeper.of("c", ["s1"], null, 48);
    expect(of).toEqual(alone);
    expect(controllers["c"]).toEqual(sensors);
    expect(sensors["s1"]?.filter((point) => point !== null).length).toBeGreaterThan(3);
    expect(controllers["nobody"]?.["s0"]?.every((point) => point === null)).toBe(true);
  });

  it("survives a restart, in the middle of an hour too, and a kill loses no more than five minutes", async () => {
    const clock = new VirtualClock();
    const directory = await folder();
    const first = await scene({ clock, directory });
    await first.minutes(90, good);
    await first.keeper.write(null);
    await first.minutes(4, (at) => good(500 + at));
    // Killed here.
    const second = await scene({ clock, directory });
    const stop = second.start();
    await clock.advance(0);
    await expect.poll(() => second.points(95)).toContain(89);
    await stop();
    const kept = await second.points(120);
    expect(kept).toContain(20);
    expect(kept).toContain(89);
    expect(kept).not.toContain(503);
    expect(second.problems).toEqual([]);
  });

  it("is filled with what others know where nothing was seen, on the disk too, and never over what was", async () => {
    const clock = new VirtualClock();
    const directory = await folder();
    const first = await scene({ clock, directory });
    await first.minutes(150, good);
    await first.keeper.write(null);
    const stopped = clock.now();
    await clock.advance(2 * hourMs);
    const second = await scene({ clock, directory });
    const stop = second.start();
    await second.minutes(2, () => good(1_000));
    const at = (minutes: number, value: number) => ({ at: stopped + minutes * minuteMs, value });
    const added = [at(-100, -1), at(-1, -2), at(30, -3), at(119, -4), at(900, -5), at(-2_000, -6)];
    second.keeper.add("c", "s0", added);
    const known = async (keeper: TrendKeeper) => (await keeper.of("c", ["s0"], null, 1_440)).sensors["s0"];
    const before = await known(second.keeper);
    expect(before?.filter((point) => point !== null && point < 0)).toEqual([-3, -4]);
    expect(before).toContain(49);
    // One writer at a time, as in the program: what is still written by the loop is over first.
    await stop();
    await second.keeper.write(null);
    expect(second.problems).toEqual([]);
    const third = await scene({ clock, directory });
    expect(await known(third.keeper)).toEqual(before);
  });

  it("loses nothing that others tell while what they told before is written, nor where the disk takes nothing", async () => {
    const clock = new VirtualClock();
    const directory = await folder();
    const at = (minutesAgo: number, value: number) => ({ at: clock.now() - minutesAgo * minuteMs, value });
    const seen: (number | null)[][] = [];
    const disk = { onWrite: (): unknown => undefined, isFull: false };
    const files = {
      ...nodeFileSystem,
      makeDirectory: (path: string, mode: number) => {
        disk.onWrite();
        return disk.isFull ? Promise.reject(new Error("ENOSPC")) : nodeFileSystem.makeDirectory(path, mode);
      },
    };
    const { keeper } = await scene({ clock, directory, files });
    const known = async () => (await keeper.of("c", ["s0"], null, 1_440)).sensors["s0"] ?? [];
    const writeWith = async (onWrite: () => unknown) => {
      disk.onWrite = () => {
        disk.onWrite = () => undefined;
        return onWrite();
      };
      await keeper.write(null).catch(() => undefined);
      seen.push((await known()).filter((point) => point !== null));
    };
    keeper.add("c", "s0", [at(130, 1)]);
    await writeWith(() => {
      keeper.add("c", "s0", [at(129, 2)]);
    });
    keeper.add("c", "s0", [at(128, 3)]);
    disk.isFull = true;
    await writeWith(() => {
      keeper.add("c", "s0", [at(127, 4)]);
    });
    disk.isFull = false;
    await writeWith(() => undefined);
    expect(seen).toEqual([
      [1, 2],
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ]);
  });

  it("of an hour that cannot be read is left as it is, whatever others know", async () => {
    const { clock, keeper, minutes, directory, problems } = await scene();
    await minutes(70, good);
    await keeper.write(null);
    const [name = ""] = (await readdir(directory)).toSorted();
    await writeFile(join(directory, name), "nonsense");
    const other = await scene({ clock, directory });
    other.keeper.add("c", "s0", [{ at: clock.now() - 65 * minuteMs, value: 5 }]);
    await other.keeper.write(null);
    expect(await readFile(join(directory, name), "utf8")).toBe("nonsense");
    expect(problems).toEqual([]);
  });

  it("is written at the end, so that a restart in order loses nothing", async () => {
    const clock = new VirtualClock();
    const directory = await folder();
    const first = await scene({ clock, directory });
    const stop = first.start();
    await first.minutes(7, good);
    await stop();
    expect(await (await scene({ clock, directory })).points(20)).toContain(6);
  });

  /** A disk that takes and gives nothing until it goes on. */
  function hangingDisk() {
    const state = { hangs: true, waiting: [] as (() => void)[] };
    const hang = () =>
      state.hangs ? new Promise<void>((resolve) => state.waiting.push(resolve)) : Promise.resolve();
    const files = new Proxy(nodeFileSystem, {
      get: (own, name) => {
        const member: unknown = Reflect.get(own, name);
        if (typeof member !== "function") return member;
        return async (...given: unknown[]) => {
          await hang();
          return Reflect.apply(member, own, given) as Promise<unknown>;
        };
      },
    });
    const goOn = () => {
      state.hangs = false;
      for (const resolve of state.waiting.splice(0)) resolve();
    };
    return { files, goOn };
  }

  it.each([
    ["an hour", 60],
    ["longer than memory holds it, and robs nothing of what the disk has", 260],
  ])("has no gap where the disk hangs from the start on: %s", async (_, count) => {
    const earlier = await scene();
    const { clock, directory } = earlier;
    await earlier.minutes(50, (minute) => good(minute));
    await earlier.keeper.write(null);
    const disk = hangingDisk();
    const { shown, start } = await scene({ clock, directory, files: disk.files });
    const end = start();
    for (let at = 0; at < count; at += 1) {
      shown.fill(good(1_000 + at));
      await clock.advance(minuteMs);
    }
    disk.goOn();
    await end();
    const next = await scene({ clock, directory });
    const kept = (await next.points(50 + count)).flatMap((point) => point ?? []);
    expect(kept.filter((value) => value < 1_000).length).toBeGreaterThanOrEqual(49);
    expect(kept.filter((value) => value >= 1_000).length).toBeGreaterThanOrEqual(Math.min(count, 180) - 2);
  });

  it("of an hour that memory holds no longer is not robbed of what the disk has, where the disk took nothing for long", async () => {
    let isFull = false;
    const files = new Proxy(nodeFileSystem, {
      get: (own, name) =>
        isFull ? () => Promise.reject(new Error("full")) : (Reflect.get(own, name) as unknown),
    });
    const { minutes, keeper, points } = await scene({ files });
    await minutes(50, (minute) => good(minute));
    await keeper.write(null);
    isFull = true;
    await minutes(260, (minute) => good(1_000 + minute));
    await expect(keeper.write(null)).rejects.toThrow("full");
    isFull = false;
    await keeper.write(null);
    const early = (await points(310)).filter((point) => point !== null && point < 1_000);
    expect(early).toHaveLength(50);
  });

  it("of a day that is over is a point in five minutes, for 30 days; older ones go", async () => {
    const { clock, keeper, minutes, directory } = await scene();
    const begin = Math.ceil(clock.now() / dayMs) * dayMs;
    await clock.advance(begin - clock.now());
    for (let at = 0; at < 33; at += 1) {
      await minutes(20, (minute) => good(at + minute / 100));
      await keeper.write(null);
      await clock.advance(dayMs - 20 * minuteMs);
    }
    await minutes(1, () => good(40));
    await keeper.write(null);
    const days = (await readdir(directory)).filter((name) => name.startsWith("day-"));
    expect(days.length).toBeGreaterThanOrEqual(29);
    expect(days.length).toBeLessThanOrEqual(31);
    const since = begin + 20 * dayMs;
    const shown = await keeper.of("c", ["s0"], { since, until: since + hourMs }, 12);
    expect(shown.sensors["s0"]?.slice(0, 5).some((point) => point === 20.19)).toBe(true);
    const gone = await keeper.of("c", ["s0"], { since: begin, until: begin + hourMs }, 12);
    expect(gone.sensors["s0"]?.every((point) => point === null)).toBe(true);
  });

  it("of a day that is over takes in what others know of its hours later, and keeps what of them is gone", async () => {
    const { clock, keeper, minutes } = await scene();
    const begin = Math.ceil(clock.now() / dayMs) * dayMs;
    await clock.advance(begin - clock.now());
    await minutes(20, () => good(1));
    await keeper.write(null);
    await clock.advance(dayMs - 20 * minuteMs);
    await minutes(1, () => good(2));
    await keeper.write(null);
    await clock.advance(6 * hourMs);
    await keeper.write(null);
    keeper.add("c", "s0", [{ at: begin + 20 * hourMs, value: -1 }]);
    await keeper.write(null);
    await clock.advance(3 * dayMs);
    await keeper.write(null);
    const { sensors } = await keeper.of("c", ["s0"], { since: begin, until: begin + dayMs - 1 }, 288);
    const shown = sensors["s0"]?.flatMap((point, at) => (point === null ? [] : [[at, point]]));
    expect(shown).toEqual([...[0, 1, 2, 3, 4].map((at) => [at, 1]), [240, -1]]);
  });

  it("keeps to its room on the disk, the oldest going first", async () => {
    const { clock, keeper, minutes, directory } = await scene({ sensors: 20, mostBytes: 4_000 });
    for (let at = 0; at < 12; at += 1) {
      await minutes(30, (minute) => good(Math.sin(at * 99 + minute * 7) * 1_000));
      await keeper.write(null);
      await clock.advance(dayMs - 30 * minuteMs);
      expect(await sizeOf(directory)).toBeLessThanOrEqual(8_000);
    }
    await keeper.write(null);
    expect(await sizeOf(directory)).toBeLessThanOrEqual(4_000);
  });

  it("is not written while a command waits for its POST", async () => {
    let isSending = true;
    const { clock, minutes, directory, start } = await scene({ isSending: () => isSending });
    const stop = start();
    await minutes(1, good);
    await clock.advance(20_000);
    expect(await readdir(directory).catch(() => [])).toEqual([]);
    isSending = false;
    await clock.advance(1_000);
    await expect.poll(() => readdir(directory).catch(() => [])).toHaveLength(1);
    await stop();
  });

  it("is spoilt by no wrong clock, and by no file that is not whole", async () => {
    let isClockRight = true;
    const clock = new VirtualClock();
    const { keeper, minutes, points, directory } = await scene({ clock, isClockRight: () => isClockRight });
    await minutes(5, good);
    isClockRight = false;
    await clock.advance(minuteMs);
    await minutes(2, () => good(99));
    expect(await points(8)).not.toContain(99);
    await keeper.write(null);
    const [name = ""] = await readdir(directory);
    const other = await scene({ clock, directory });
    await truncate(join(directory, name), 30);
    expect((await other.points(10)).every((point) => point === null)).toBe(true);
    await writeFile(join(directory, name), "nonsense\nnonsense");
    expect((await other.points(10)).every((point) => point === null)).toBe(true);
  });

  it("is forgotten where sensors are invented without end, and goes on", async () => {
    const { minutes, points, shown } = await scene({ sensors: 2_000 });
    await minutes(1, () => good(7));
    shown.length = 1;
    await minutes(1, () => good(8));
    expect(await points(2)).toEqual([null, 8]);
  });

  it("follows a time that runs faster than ours without holes", async () => {
    const clock = new VirtualClock();
    const began = clock.now();
    const { keeper, minutes } = await scene({
      clock,
      timeOf: (realMs) => began + (realMs - began) * 5,
    });
    await minutes(12, good);
    const { sensors } = await keeper.of("c", ["s0"], null, 1_440);
    expect(sensors["s0"]?.slice(-55).every((point) => point !== null)).toBe(true);
  });
});

describe("points as bytes", () => {
  it("come back as they were, with gaps, signs and digits", async () => {
    const block = new Map([
      ["a", [20.5, 20.6, null, 20.6, -3.25, 0, 1e9]],
      ["b", [null, null, null]],
      ["c", [0.0001, 1234.5678, 99_999]],
    ]);
    expect(await unpack(await pack(block))).toEqual(block);
  });

  it("of 500 controllers with 12 sensors take at most 64 MiB for 30 days and a day of minutes", async () => {
    let seed = 7;
    const chance = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
    const walk = (count: number) => {
      let value = 20;
      return Array.from({ length: count }, () => Math.round((value += (chance() - 0.5) * 0.6) * 10) / 10);
    };
    const block = (count: number) =>
      new Map(Array.from({ length: 12 }, (_, at) => [`sensor_${at}`, walk(count)] as const));
    const [day, hour] = [(await pack(block(288))).length, (await pack(block(60))).length];
    const bytes = 500 * (30 * day + 49 * hour);
    console.log(`trends of 500 controllers: ${(bytes / 2 ** 20).toFixed(1)} MiB`);
    expect(bytes).toBeLessThanOrEqual(64 * 2 ** 20);
  });
});

describe("a night", () => {
  it("is when a sensor of light shows next to nothing for hours; a cloud and a gap are none", () => {
    const day = [0, 0, 0, 0, 5, 40, 60, 0, 50, 20, null, null, 0, 0, 0];
    expect(nightsOf(day, "2026-07-01T00:00:00.000Z", 3_600)).toEqual([
      ["2026-07-01T00:00:00.000Z", "2026-07-01T04:00:00.000Z"],
      ["2026-07-01T12:00:00.000Z", "2026-07-01T15:00:00.000Z"],
    ]);
    expect(nightsOf([null, null], "2026-07-01T00:00:00.000Z", 3_600)).toEqual([]);
  });
});
