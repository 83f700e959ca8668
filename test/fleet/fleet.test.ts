import { AsyncResource } from "node:async_hooks";
import type { BridgeView } from "../../src/bridge.js";
import { runStateOf } from "../../src/cli/account-settings.js";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { hashOf } from "../../src/runtime/hash.js";
import { type FleetFiles, type LoadedAccount, refusedAccounts } from "../../src/config/fleet.js";
import { type AccountRun, Fleet, startDelayMs } from "../../src/fleet/fleet.js";
import { accountLine } from "../../src/fleet/status-file.js";
import { summaryOf } from "../../src/greenhouse/summary.js";
import { msg } from "../../src/language/text.js";
import { fileProblem } from "../../src/settings/problem.js";
import { inChinese } from "../support/chinese.js";
import { loaded, platform } from "../config/loading.js";
import { silentLog } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";

type Texts = Readonly<Record<string, string>>;

async function filesOf(texts: Texts, refused: readonly string[] = [], token = "one"): Promise<FleetFiles> {
  const accounts = new Map<string, LoadedAccount>();
  for (const [account, text] of Object.entries(texts))
    accounts.set(account, { ...(await loaded(platform + text, { env: { TOKEN: token } })), account });
  const fleet = { shard: null } as FleetFiles["fleet"];
  return { fleet, accounts, refused, problems: [], warnings: [] };
}

/** A fleet whose accounts run until they are told to end, or made to fail. */
async function running(texts: Texts, begins = Promise.resolve()) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const story: string[] = [];
  const runs = new Map<
    string,
    {
      readonly run: AccountRun;
      readonly end: (error?: Error) => void;
      readonly fails: (error: Error) => boolean;
    }
  >();
  const removed: string[] = [];
  const next = {
    files: await filesOf(texts),
    read: (files: () => FleetFiles): Promise<FleetFiles> => Promise.resolve(files()),
    onRead: (_account: string): Promise<void> => Promise.resolve(),
    /** Whether a run ends as soon as it is told to. */
    ending: "at once" as "at once" | "held",
  };
  const fleet: Fleet = new Fleet({
    read: () => next.read(() => next.files),
    start: (run) =>
      new Promise((resolve, reject) => {
        const { account } = run.loaded;
        story.push(`${account} begins at ${Math.round(clock.monotonic() / 1_000)} s`);
        const end = (error?: Error) => {
          story.push(`${account} ${error === undefined ? "ends" : "fails"}`);
          if (error === undefined) resolve();
          else reject(error);
        };
        run.stop.addEventListener("abort", () => next.ending === "at once" && end(), { once: true });
        run.failing.addEventListener("abort", () => end(run.failing.reason as Error), { once: true });
        runs.set(account, {
          run,
          end,
          fails: AsyncResource.bind((error: Error) => fleet.isContained(error)),
        });
      }),
    onRead: (account) => next.onRead(account),
    onTaken: () => Promise.resolve(),
    onRemoved: (account) => removed.push(account),
    onMistaken: (account, mistakes) => story.push(`${account} has mistakes: ${String(mistakes)}`),
    noteError: ({ account }, error) => story.push(`${account} left: ${String(error)}`),
    clock,
    random: () => 0.5,
    log: silentLog,
  });
  const { files } = next;
  const ended = begins.then(() => fleet.run(files, stop.signal));
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  const told = async (ms: number) => {
    await clock.advance(ms);
    return story.splice(0);
  };
  return { fleet, clock, stop, ended, runs, next, told, removed };
}

describe("an account that ends by an error", () => {
  it("starts again after pauses that grow, and the others go on", async () => {
    const { runs, told, fleet } = await running({ north: "", east: "" });
    await told(1_000);
    runs.get("north")?.end(new Error("the disk is gone"));
    expect(await told(1_000)).toEqual(["north fails", "north left: Error: the disk is gone"]);
    expect(fleet.states().get("north")).toMatchObject({
      phase: "waiting",
      restarts: 1,
      error: "the disk is gone",
    });
    expect(await told(4_000)).toEqual(["north begins at 5 s"]);
    runs.get("north")?.end(new Error("again"));
    await told(1_000);
    expect(await told(10_000)).toEqual(["north begins at 12 s"]);
    expect(fleet.states().get("east")).toMatchObject({ restarts: 0, error: null });
  });

  it("after a quarter of an hour of work does not pay for what was before", async () => {
    const { runs, told } = await running({ north: "" });
    await told(1_000);
    for (let at = 0; at < 4; at += 1) {
      runs.get("north")?.end(new Error("again"));
      await told(200_000);
    }
    await told(900_000);
    runs.get("north")?.end(new Error("something else"));
    expect((await told(4_000)).at(-1)).toMatch(/^north begins/);
  });

  it("while it stands by starts again at once, and not as it comes to own the account", async () => {
    const { runs, told, fleet } = await running({ north: "" });
    await told(1_000);
    const { run, fails } = runs.get("north") ?? expect.fail("north runs");
    run.onStandby("another");
    const heeded = vi.fn();
    run.stop.addEventListener("abort", heeded);
    expect(fails(new Error("nobody caught it"))).toBe(true);
    expect(heeded).toHaveBeenCalled();
    await told(10_000);
    expect(runs.get("north")?.run.failing.aborted).toBe(false);
    expect(fleet.state("north")).toMatchObject({ restarts: 1, error: "nobody caught it" });
  });

  it("is known by the work in which nobody caught it; of nobody's work it is nobody's", async () => {
    const { runs, told, fleet } = await running({ north: "", east: "" });
    await told(1_000);
    expect(fleet.isContained(new Error("of the process"))).toBe(false);
    expect(runs.get("north")?.fails(new Error("nobody caught it"))).toBe(true);
    expect((await told(1_000)).slice(0, 2)).toEqual(["north fails", "north left: Error: nobody caught it"]);
  });
});

it("what is done for an account from outside is that account's when nobody catches it", async () => {
  const { told, fleet } = await running({ north: "", east: "" });
  await told(1_000);
  const isContained = fleet.within("east", () => fleet.isContained(new Error("asked at the page")));
  expect(isContained).toBe(true);
  expect((await told(1_000)).slice(0, 1)).toEqual(["east fails"]);
  expect(fleet.within("nowhere", () => fleet.isContained(new Error("of nobody")))).toBe(false);
});

describe("files that are read again", () => {
  it("that are new begin, that are gone end, that changed end and begin, and no other notices", async () => {
    const { fleet, next, told, removed } = await running({ north: "", east: "", west: "" });
    await told(1_000);
    next.files = await filesOf({ north: "", east: "mirror: listed\n", south: "" });
    const reloaded = fleet.reload();
    expect((await told(1_000)).sort()).toEqual([
      "east begins at 1 s",
      "east ends",
      "south begins at 1 s",
      "west ends",
    ]);
    await reloaded;
    expect([...fleet.states().keys()]).toEqual(["east", "north", "south"]);
    expect(removed).toEqual(["west"]);
  });

  it("in which only what can change did let the account run on with that", async () => {
    const { fleet, next, told, runs } = await running({ north: "" });
    await told(1_000);
    next.files = await filesOf({ north: "commands: { read_only: true }\n" });
    await fleet.reload();
    expect(await told(1_000)).toEqual([]);
    expect(runs.get("north")?.run.live.current.commands.read_only).toBe(true);
  });

  it("with mistakes leave running what ran before", async () => {
    const { fleet, next, told } = await running({ north: "", east: "" });
    await told(1_000);
    next.files = await filesOf({ east: "" }, ["north"]);
    await fleet.reload();
    expect(await told(1_000)).toEqual(["north has mistakes: its file has mistakes"]);
    next.files = { ...next.files, fleet: null, accounts: new Map() };
    await fleet.reload();
    expect(await told(1_000)).toEqual([]);
    expect([...fleet.states().keys()]).toEqual(["east", "north"]);
  });

  it("are told as mistaken until they are read without mistakes", async () => {
    const { fleet, next } = await running({ north: "" });
    const { files } = next;
    const told = [String(fleet.mistake)];
    const [problems, accounts] = [[fileProblem("/etc/g/fleet.yaml", msg`broken`, { line: 3 })], new Map()];
    for (const read of [
      { ...files, fleet: null, accounts, problems },
      { ...files, isFolderUnread: true },
      files,
    ]) {
      next.files = read;
      await fleet.reload();
      told.push(String(fleet.mistake));
    }
    expect(told).toEqual([
      "null",
      "fleet.yaml:3:1: broken",
      "the folder of the accounts cannot be read",
      "null",
    ]);
  });

  it("end nothing while the folder of the accounts cannot be read", async () => {
    const { fleet, next, told } = await running({ north: "", east: "" });
    await told(1_000);
    next.files = { ...(await filesOf({})), isFolderUnread: true };
    await fleet.reload();
    expect(await told(1_000)).toEqual([]);
    expect([...fleet.states().keys()]).toEqual(["east", "north"]);
  });

  it.each([
    ["does not answer", () => new Promise<void>(() => undefined)],
    ["is broken", () => Promise.reject(new Error("EIO"))],
  ])("are taken up where the disk of one account %s, also that one", async (_, disk) => {
    const { fleet, next, told, runs } = await running({ north: "", east: "" });
    await told(1_000);
    next.onRead = (account) => (account === "north" ? disk() : Promise.resolve());
    const changed = "commands: { read_only: true }\n";
    next.files = await filesOf({ north: changed, east: changed });
    const reloaded = fleet.reload();
    await told(5_000);
    await reloaded;
    expect(
      [...runs].map(([name, { run }]) => `${name} ${run.live.current.commands.read_only}`).sort(),
    ).toEqual(["east true", "north true"]);
  });

  it("tell of those with mistakes, of which nothing runs, since when that is so", async () => {
    const { fleet, next, told, clock } = await running({ north: "" });
    await told(1_000);
    next.files = await filesOf({ north: "" }, ["west"]);
    await fleet.reload();
    const since = clock.now();
    await told(5_000);
    await fleet.reload();
    expect([...fleet.states().keys()]).toEqual(["north", "west"]);
    const west = { phase: "refused", since, error: "its file has mistakes", bridge: null };
    expect(fleet.state("west")).toMatchObject(west);
    next.files = await filesOf({ north: "", west: "" });
    await fleet.reload();
    expect(await told(100)).toEqual(["west begins at 6 s"]);
    expect(fleet.states().get("west")).toMatchObject({ phase: "starting" });
  });

  it("let an account that waits for its next start begin at once", async () => {
    const { fleet, next, told, runs } = await running({ north: "" });
    await told(1_000);
    runs.get("north")?.end(new Error("wrong token"));
    await told(500);
    next.files = await filesOf({ north: "mirror: listed\n" });
    await fleet.reload();
    expect(await told(0)).toContain("north begins at 2 s");
  });
});

describe("files that are read again and again", () => {
  /** Reads whose answers are given one by one. */
  async function heldUp(texts: Texts) {
    const scene = await running(texts);
    const reads: (() => void)[] = [];
    scene.next.read = async (files) => {
      await new Promise<void>((resolve) => reads.push(resolve));
      return files();
    };
    return { ...scene, reads };
  }

  it("are read one at a time, and all who asked meanwhile get one reading more", async () => {
    const { fleet, reads, told } = await heldUp({ north: "" });
    const first = fleet.reload();
    const others = [fleet.reload(), fleet.reload()];
    await told(0);
    expect(reads).toHaveLength(1);
    reads[0]?.();
    await first;
    await told(0);
    expect(reads).toHaveLength(2);
    reads[1]?.();
    await Promise.all(others);
    expect(reads).toHaveLength(2);
  });

  it("after a renaming leave no account running that no list names", async () => {
    const { fleet, next, told, runs, stop, ended } = await running({ old: "" });
    next.ending = "held";
    await told(1_000);
    next.files = await filesOf({ new: "" });
    const reloads = [fleet.reload(), fleet.reload()];
    await told(100);
    await Promise.all(reloads);
    expect([...fleet.states().keys()]).toEqual(["new", "old"]);
    expect(await told(0)).toEqual([]);
    runs.get("old")?.end();
    expect(await told(1_000)).toEqual(["old ends", "new begins at 1 s"]);
    expect([...fleet.states().keys()]).toEqual(["new"]);
    next.ending = "at once";
    stop.abort();
    await told(0);
    runs.get("new")?.end();
    await ended;
  });

  it("run a file that comes back while its account still ends after that", async () => {
    const { fleet, next, told, runs } = await running({ north: "", east: "" });
    next.ending = "held";
    await told(1_000);
    next.files = await filesOf({ east: "" });
    await fleet.reload();
    next.files = await filesOf({ north: "", east: "" });
    await fleet.reload();
    expect(await told(5_000)).toEqual([]);
    runs.get("north")?.end();
    expect(await told(0)).toEqual(["north ends", "north begins at 6 s"]);
    expect(fleet.state("north")?.phase).toBe("starting");
    next.ending = "at once";
  });

  it("run a file that comes back after it also where nothing in it is as it was", async () => {
    const { fleet, next, told, runs } = await running({ north: "" });
    next.ending = "held";
    await told(1_000);
    next.files = await filesOf({});
    await fleet.reload();
    const mqtt = "mqtt: { url: mqtt://elsewhere, client_id: other, base_topic: other }";
    next.files = await filesOf({ north: `${mqtt}\ndata_dir: /other\nhttp: false\n` }, [], "another-token");
    await fleet.reload();
    expect(await told(5_000)).toEqual([]);
    runs.get("north")?.end();
    expect(await told(0)).toEqual(["north ends", "north begins at 6 s"]);
    next.ending = "at once";
  });

  it("start no account beside one that is to end first, however long that takes", async () => {
    const { fleet, clock, next, told, runs } = await running({ north: "", east: "" });
    next.ending = "held";
    await told(1_000);
    next.files = await filesOf({ north: "", south: "" });
    await fleet.reload();
    // Frozen, so that the minute is over before anything could end.
    clock.stall(70_000);
    expect(await told(120_000)).toEqual([]);
    runs.get("east")?.end();
    expect(await told(0)).toEqual(["east ends", "south begins at 191 s"]);
    next.ending = "at once";
  });

  it("start no account beside another that was told to end while it waited for the first", async () => {
    const { fleet, next, told, runs } = await running({ north: "", east: "" });
    next.ending = "held";
    await told(1_000);
    next.files = await filesOf({ north: "", south: "" });
    await fleet.reload();
    await told(1_000);
    next.files = await filesOf({ south: "" });
    await fleet.reload();
    runs.get("east")?.end();
    expect(await told(1_000)).toEqual(["east ends"]);
    runs.get("north")?.end();
    expect(await told(0)).toEqual(["north ends", "south begins at 3 s"]);
    next.ending = "at once";
  });

  it("forget one that waits for another to end, and is gone again", async () => {
    const { fleet, next, told, runs } = await running({ north: "", east: "" });
    next.ending = "held";
    await told(1_000);
    next.files = await filesOf({ north: "", south: "" });
    await fleet.reload();
    await told(90_000);
    next.files = await filesOf({ north: "" });
    await fleet.reload();
    await told(0);
    expect([...fleet.states().keys()]).toEqual(["east", "north"]);
    runs.get("east")?.end();
    expect(await told(1_000)).toEqual(["east ends"]);
    next.ending = "at once";
  });

  it("before the first accounts are there wait for those, so that none of them runs twice", async () => {
    let begin = () => {};
    const begins = new Promise<void>((resolve) => (begin = resolve));
    const { fleet, next, told } = await running({ north: "" }, begins);
    next.files = await filesOf({ north: "", south: "" });
    const reloaded = fleet.reload();
    expect(await told(1_000)).toEqual([]);
    begin();
    expect((await told(1_000)).sort()).toEqual(["north begins at 1 s", "south begins at 1 s"]);
    await reloaded;
  });

  it("begin nothing once the fleet is told to end", async () => {
    const { fleet, next, told, stop, ended, reads } = await heldUp({ north: "" });
    await told(1_000);
    next.files = await filesOf({ north: "", south: "" });
    const reloaded = fleet.reload();
    stop.abort();
    await ended;
    reads[0]?.();
    await reloaded;
    expect(await told(1_000)).toEqual(["north ends"]);
  });
});

describe("the starts of many accounts", () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `site-${at}`);

  it("are spread evenly over a minute by their names; of two they are at once", () => {
    const delays = names.map((name) => startDelayMs(name, names.length));
    const perTenth = Array.from(
      { length: 10 },
      (_, part) => delays.filter((ms) => Math.floor(ms / 6_000) === part).length,
    );
    for (const count of perTenth) expect(count).toBeGreaterThan(70);
    expect(Math.max(...delays)).toBeLessThanOrEqual(60_000);
    expect(startDelayMs("north", 2)).toBeLessThan(120);
  });

  it("are the same in each run", () => {
    expect(hashOf("north")).toBe(3_498_172_214);
  });
});

it("how long an account runs no clock changes that is set meanwhile", async () => {
  const { fleet, clock, told, runs } = await running({ north: "" });
  await told(1_000);
  runs.get("north")?.run.onMade({} as BridgeView);
  await told(5_000);
  clock.setWall(clock.now() + 3_600_000);
  await told(5_000);
  expect(runStateOf(fleet.state("north"), false, clock.monotonic()).runsForMs).toBe(10_000);
});

it("all end in order when the fleet is told to", async () => {
  const { stop, ended, told } = await running({ north: "", east: "" });
  await told(1_000);
  stop.abort();
  await ended;
  expect((await told(0)).sort()).toEqual(["east ends", "north ends"]);
});

it("a line of `fleet status` tells what is wrong with a file in the language of whoever asks", () => {
  const report = {
    ...{
      ...summaryOf([]),
      since: "",
      restarts: 0,
      error: "its file has mistakes",
      again: null,
    },
    state: "refused",
    ...{ platform: null, broker: null, alarms: 0, worst: null, read_only: false, owner: null },
  } as const;
  const files = { fleet: null, accounts: new Map(), refused: ["north"], problems: [], warnings: [] };
  const said = accountLine(report, refusedAccounts(files).get("north"));
  expect([String(said), inChinese(said)]).toEqual([
    "not started, as its file has mistakes: its file has mistakes",
    expect.not.stringMatching(/[a-z]{3,}/),
  ]);
});
