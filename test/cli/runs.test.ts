import { describe, expect, it } from "vitest";
import type { Configuration } from "../../src/config/schema.js";
import { configurationSchema } from "../../src/config/schema.js";
import { notComeUp, type Run, Runs } from "../../src/cli/runs.js";
import { untilAborted } from "../../src/runtime/clock.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { VirtualClock } from "../support/virtual-clock.js";

const hosts = { business_url: "https://b.example", realtime_url: "https://r.example", token: "canary-token" };
const configuration = (more: object = {}): Configuration =>
  configurationSchema.parse({ platform: hosts, http: false, ...more });

const change = {
  kept: { file: "/kept.yaml", secrets: null },
  etag: "1",
  keys: ["mirror"],
  difference: "-a\n+b",
};

interface Played {
  readonly runs: Runs;
  readonly clock: VirtualClock;
  readonly started: Configuration[];
  readonly back: string[];
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Runs that end by an error where the configuration mirrors what is listed alone. */
function played(isBroken: (given: Configuration) => boolean): Played {
  const clock = new VirtualClock();
  const first = configuration();
  const runs = new Runs(first, clock);
  const started: Configuration[] = [];
  const back: string[] = [];
  const start = async ({ configuration: given, stop, onMade }: Run) => {
    started.push(given);
    if (isBroken(given)) throw new Error("the port is taken");
    onMade({
      commands: { limits: { alarms: { set: () => undefined } } },
      status: { facts: () => ({ platform: "online" }) },
    } as never);
    await untilAborted(stop);
  };
  const stop = new AbortController();
  const readAgain = () => {
    runs.take(first);
    return Promise.resolve(null);
  };
  const ended = runs.run({ start, readAgain, log: capturedLog().log }, stop.signal);
  ended.catch(() => undefined);
  return { runs, clock, started, back, stop, ended };
}

const file = (back: string[]) =>
  ({
    putBack: ({ file: from }: { readonly file: string | null }) => {
      back.push(from ?? "");
      return Promise.resolve(true);
    },
  }) as never;

describe("the runs of a bridge", () => {
  it("one follows the other in the same process where the settings need it", async () => {
    const { runs, clock, started, stop, ended } = played(() => false);
    await clock.advance(10);
    expect(runs.take(configuration({ commands: { read_only: true } }))).toEqual({
      applied: ["commands.read_only"],
      needRestart: [],
    });
    expect(started).toHaveLength(1);
    expect(runs.take(configuration({ mirror: "listed", commands: { read_only: true } })).needRestart).toEqual(
      ["mirror"],
    );
    await clock.advance(10);
    expect(started.map(({ mirror }) => mirror)).toEqual(["all", "listed"]);
    stop.abort();
    await ended;
  });

  it("what an operator chose for this run stays over a new one", async () => {
    const { runs, clock, stop, ended } = played(() => false);
    await clock.advance(10);
    runs.live.chooseReadOnly(true, "anna");
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(10);
    expect(runs.live.commandRules().read_only).toBe(true);
    stop.abort();
    await ended;
  });

  it("saved settings that do not start go back after a minute", async () => {
    const { runs, clock, started, back, stop, ended } = played(({ mirror }) => mirror === "listed");
    await clock.advance(10);
    runs.onSaved(change, file(back));
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(59_000);
    expect([back, started.length > 10]).toEqual([[], true]);
    await clock.advance(5_000);
    expect(back).toEqual(["/kept.yaml"]);
    expect(started.at(-1)?.mirror).toBe("all");
    expect(runs.returned).toMatchObject({
      reason: "the bridge did not start by them (the port is taken)",
      difference: "-a\n+b",
    });
    expect(runs.returnedSentence()).not.toContain("-a\n+b");
    stop.abort();
    await ended;
  });

  it("saved settings that do not start go back also where the file is read again meanwhile, or saved once more", async () => {
    const { runs, clock, back, stop, ended } = played(({ mirror }) => mirror === "listed");
    await clock.advance(10);
    runs.onSaved(change, file(back));
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(10_000);
    runs.take(configuration({ mirror: "listed" }));
    runs.onSaved({ ...change, kept: { file: "/later.yaml", secrets: null } }, file(back));
    runs.take(configuration({ mirror: "listed", commands: { read_only: true } }));
    await clock.advance(65_000);
    expect(back).toEqual(["/kept.yaml"]);
    stop.abort();
    await ended;
  });

  it("the trial of settings ends where they cannot go back, so that a later save is none of theirs", async () => {
    const { runs, clock, back, stop, ended } = played(({ mirror }) => mirror === "listed");
    const changedSince = { putBack: () => Promise.resolve(false) } as never;
    await clock.advance(10);
    runs.onSaved(change, changedSince);
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(65_000);
    runs.take(configuration());
    runs.onSaved({ ...change, kept: { file: "/later.yaml", secrets: null } }, file(back));
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(65_000);
    expect(back).toEqual(["/later.yaml"]);
    stop.abort();
    await ended;
  });

  it("a configuration that was changed by hand and does not start leaves the former one at work", async () => {
    const { runs, clock, started, stop, ended } = played(({ mirror }) => mirror === "listed");
    await clock.advance(10);
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(5_000);
    expect(started.map(({ mirror }) => mirror)).toEqual(["all", "listed", "all"]);
    expect(runs.take(configuration({ mirror: "listed" })).needRestart).toEqual(["mirror"]);
    stop.abort();
    await ended;
  });

  it("saved settings by which it comes up stay", async () => {
    const { runs, clock, back, started, stop, ended } = played(() => false);
    await clock.advance(10);
    runs.onSaved(change, file(back));
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(120_000);
    expect([back, started.length, runs.returned]).toEqual([[], 2, null]);
    stop.abort();
    await ended;
  });

  it("an error without settings on trial ends the program, as it always did", async () => {
    const { clock, ended } = played(() => true);
    await clock.advance(10);
    await expect(ended).rejects.toThrow("the port is taken");
  });
});

const up = {
  mayStandBy: false,
  runsForMs: 59_000,
  error: null,
  http: false,
  isPageOpen: false,
  wasPageOpen: false,
  platform: "online",
  platformBefore: "online",
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
  ] as const)("not where %s", (_, seen, wanted) => {
    expect(notComeUp({ ...up, ...seen })).toContain(wanted);
  });
});
