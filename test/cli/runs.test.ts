import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Configuration } from "../../src/config/schema.js";
import { configurationSchema } from "../../src/config/schema.js";
import { type Run, Runs } from "../../src/cli/runs.js";
import { pageOf } from "../../src/cli/run.js";
import type { ProcessContext } from "../../src/terminal/context.js";
import { untilAborted } from "../../src/runtime/clock.js";
import { tempDirectory } from "../journal/support/disk.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { VirtualClock } from "../support/virtual-clock.js";

const hosts = { business_url: "https://b.example", realtime_url: "https://r.example", token: "canary-token" };
const configuration = (more: object = {}): Configuration =>
  configurationSchema.parse({ platform: hosts, http: false, ...more });

interface Played {
  readonly runs: Runs;
  readonly clock: VirtualClock;
  readonly started: Configuration[];
  /** Why a file was not kept in force. */
  readonly left: readonly string[];
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Runs that end by an error where the configuration mirrors what is listed alone. */
function played(isBroken: (given: Configuration) => boolean, isOnTrial = false): Played {
  const clock = new VirtualClock();
  const first = configuration();
  const runs = new Runs(first, clock);
  const started: Configuration[] = [];
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
  const left: string[] = [];
  const fellBack = (error: string) => Promise.resolve(void left.push(error));
  const trial = { isOfSaved: isOnTrial, fellBack };
  const ended = runs.run({ start, trial, log: capturedLog().log }, stop.signal);
  ended.catch(() => undefined);
  return { runs, clock, started, left, stop, ended };
}

it("the page's doctor looks at the settings as they count when it is asked", async () => {
  const folder = await tempDirectory();
  const here = {
    business_url: "http://127.0.0.1:1",
    realtime_url: "http://127.0.0.1:1",
    token: "canary-token",
  };
  const withUsers = (users: readonly object[]) =>
    configurationSchema.parse({ platform: here, data_dir: folder, http: { users } });
  let now = withUsers([]);
  const context = { env: {}, err: { write: () => true } } as unknown as ProcessContext;
  const named = { file: join(folder, "config.yaml"), account: undefined };
  const page = pageOf(() => now, named, context, capturedLog().log);
  now = withUsers([{ username: "anna", password: "sunflowers in a row", role: "admin" }]);
  const found: unknown[] = [];
  for await (const one of page.doctor(new AbortController().signal, "en")) found.push(one);
  expect(found).toContainEqual(
    expect.objectContaining({ check: "page", summary: expect.stringContaining("anna") as string }),
  );
});

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

  it("settings on trial are tried again and again, and what is seen of it says why they do not start", async () => {
    const { runs, clock, started, stop, ended } = played(({ mirror }) => mirror === "listed", true);
    await clock.advance(10);
    expect(runs.runState()).toMatchObject({ runsForMs: 10, failures: 0, error: null });
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(59_000);
    expect(started.length).toBeGreaterThan(10);
    expect(runs.runState()).toMatchObject({ runsForMs: null, error: "the port is taken", bridge: null });
    runs.take(configuration());
    await clock.advance(5_000);
    expect(started.at(-1)?.mirror).toBe("all");
    stop.abort();
    await ended;
  });

  it("a configuration that was changed by hand and does not start leaves the former one at work", async () => {
    const { runs, clock, started, left, stop, ended } = played(({ mirror }) => mirror === "listed");
    await clock.advance(10);
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(5_000);
    expect(left).toEqual(["the port is taken"]);
    expect(started.map(({ mirror }) => mirror)).toEqual(["all", "listed", "all"]);
    stop.abort();
    await ended;
  });

  it("one by which the bridge did not come up is not tried again before it is another one, but for what counts at once", async () => {
    const { runs, clock, started, stop, ended } = played(({ mirror }) => mirror === "listed");
    await clock.advance(10);
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(5_000);
    const again = configuration({ mirror: "listed", commands: { read_only: true } });
    expect(runs.judge(again).isRefused).toBe(true);
    expect(runs.take(again)).toEqual({ applied: ["commands.read_only"], needRestart: [] });
    await clock.advance(5_000);
    expect(started).toHaveLength(3);
    expect(runs.take(configuration({ mirror: "listed", data_dir: "other" })).needRestart).toContain("mirror");
    stop.abort();
    await ended;
  });

  it("what counts at once is not undone where the bridge goes back", async () => {
    const { runs, clock, started, stop, ended } = played(() => false);
    await clock.advance(10);
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(10);
    runs.take(configuration({ mirror: "listed", commands: { read_only: true } }));
    expect(runs.goBack()).toBe(true);
    await clock.advance(10);
    expect(started.map(({ mirror, commands }) => [mirror, commands.read_only])).toEqual([
      ["all", false],
      ["listed", false],
      ["all", true],
    ]);
    expect(runs.goBack()).toBe(false);
    stop.abort();
    await ended;
  });

  it("one that was complete and fails before its minute is over goes back too; settled, it ends the program", async () => {
    const broken = { isListed: false };
    const { runs, clock, started, ended } = played(({ mirror }) => broken.isListed && mirror === "listed");
    await clock.advance(10);
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(10);
    broken.isListed = true;
    runs.take(configuration({ mirror: "listed", data_dir: "other" }));
    await clock.advance(5_000);
    expect(started.at(-1)?.mirror).toBe("all");
    runs.take(configuration({ mirror: "listed", data_dir: "third" }));
    runs.settle();
    await clock.advance(5_000);
    await expect(ended).rejects.toThrow("the port is taken");
  });

  it("the former one stays at work also where the broken one is read again before it is", async () => {
    const { runs, clock, started, stop, ended } = played(({ mirror }) => mirror === "listed");
    await clock.advance(10);
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(500);
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(5_000);
    expect(started.map(({ mirror }) => mirror)).toEqual(["all", "listed", "all"]);
    expect(runs.runState()).toMatchObject({ error: "the port is taken", failures: 1 });
    stop.abort();
    await ended;
  });

  it("a former one that does not start either ends the program, as it always did", async () => {
    const broken = { isAll: false };
    const { runs, clock, ended } = played(() => broken.isAll);
    await clock.advance(10);
    broken.isAll = true;
    runs.take(configuration({ mirror: "listed" }));
    await clock.advance(5_000);
    await expect(ended).rejects.toThrow("the port is taken");
  });

  it("an error without settings on trial ends the program, as it always did", async () => {
    const { clock, ended } = played(() => true);
    await clock.advance(10);
    await expect(ended).rejects.toThrow("the port is taken");
  });
});
