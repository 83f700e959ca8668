import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { AccountSettings, runStateOf } from "../../src/cli/account-settings.js";
import { loadFleet } from "../../src/config/fleet.js";
import { identityOf } from "../../src/journal/lock.js";
import { filesOnTrial, readTrial, writeTrial } from "../../src/saving/trial-record.js";
import type { Clock } from "../../src/runtime/clock.js";
import { tempDirectory } from "../journal/support/disk.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { VirtualClock } from "../support/virtual-clock.js";

it("an account whose former file is not there keeps no other one of the fleet from its own", async () => {
  const folder = await tempDirectory();
  const accounts = join(folder, "accounts");
  await mkdir(accounts);
  const own = new AccountSettings({
    settings: { accounts, file: join(folder, "fleet.yaml"), data_dir: folder } as never,
    ...{ env: {}, restarting: undefined, clock: new VirtualClock() },
    running: {
      reload: () => Promise.resolve(),
      state: () => undefined,
      goBack: () => false,
      settle: () => undefined,
    },
    logOf: () => capturedLog().log,
  });
  const by = { ...(await identityOf(process.pid)), pid: 4_194_303, started: "1" };
  for (const account of ["north", "south"]) {
    const file = join(accounts, `${account}.yaml`);
    await writeFile(file, "mirror: listed\n");
    const { etag } = await own.source(account).read();
    await writeTrial(file, {
      ...{
        by,
        etags: ["0-0", etag],
        keys: ["mirror"],
        difference: "",
        starts: 0,
        reason: "it did not start",
      },
      ...{ platform: null, wasPageOpen: false, dataDir: folder },
      kept: { file: join(folder, `${account}-before.yaml`), secrets: null },
    });
  }
  await writeFile(join(folder, "south-before.yaml"), "mirror: all\n");
  expect(await own.resume()).toBe(true);
  expect(await filesOnTrial(accounts)).toEqual([]);
  expect(await readTrial(join(accounts, "south.yaml"))).toBeNull();
  const texts = ["north", "south"].map(async (account) => (await own.source(account).read()).text);
  expect(await Promise.all(texts)).toEqual(["mirror: listed\n", "mirror: all\n"]);
});

/** By it all that waits for a disk comes too late. */
function hastyClock(): Clock {
  const clock = new VirtualClock();
  const after = (_: number, run: () => void) => {
    queueMicrotask(run);
    return () => undefined;
  };
  return Object.assign(clock, { after });
}

it("an account of which the disk does not answer keeps no other one from starting, and is read again once it has", async () => {
  const folder = await tempDirectory();
  const accounts = join(folder, "accounts");
  await mkdir(accounts);
  const reloads: string[] = [];
  const { log, lines } = capturedLog();
  const own = new AccountSettings({
    settings: { accounts, file: join(folder, "fleet.yaml"), data_dir: folder } as never,
    ...{ env: {}, restarting: undefined, clock: hastyClock() },
    running: {
      reload: () => Promise.resolve(void reloads.push("")),
      ...{ state: () => undefined, goBack: () => false, settle: () => undefined },
    },
    logOf: () => log,
  });
  const file = join(accounts, "north.yaml");
  await writeFile(file, "mirror: listed\n");
  await writeFile(join(folder, "before.yaml"), "mirror: all\n");
  const { etag } = await own.source("north").read();
  await writeTrial(file, {
    by: { ...(await identityOf(process.pid)), pid: 4_194_303, started: "1" },
    ...{ etags: ["0-0", etag], keys: ["mirror"], difference: "", starts: 0, reason: "it did not start" },
    ...{ platform: null, wasPageOpen: false, dataDir: folder },
    kept: { file: join(folder, "before.yaml"), secrets: null },
  });
  expect(await own.resume()).toBe(false);
  expect(await own.formers()).toEqual(new Map());
  expect(lines.join("\n")).toContain("it begins by its file as it is");
  await expect.poll(() => reloads, { timeout: 20_000 }).toEqual([""]);
  expect((await own.source("north").read()).text).toBe("mirror: all\n");
});

it("settings of an account are judged by the folder of accounts that the fleet runs by", async () => {
  const folder = await tempDirectory();
  const file = join(folder, "fleet.yaml");
  await mkdir(join(folder, "accounts"));
  await mkdir(join(folder, "others"));
  await writeFile(join(folder, "accounts", "north.yaml"), "mirror: listed\n");
  const fleet = (accounts: string) => `accounts: ./${accounts}
data_dir: ./data
defaults:
  platform: { business_url: http://127.0.0.1:1, realtime_url: http://127.0.0.1:1, token: some-token-1 }
  mqtt: { url: mqtt://127.0.0.1:1883 }
`;
  await writeFile(file, fleet("accounts"), { mode: 0o600 });
  const { fleet: settings } = await loadFleet(file, { env: {} });
  const own = new AccountSettings({
    settings: settings as NonNullable<typeof settings>,
    ...{ env: {}, restarting: undefined, clock: new VirtualClock() },
    running: {
      reload: () => Promise.resolve(),
      state: () => undefined,
      goBack: () => false,
      settle: () => undefined,
    },
    logOf: () => capturedLog().log,
  });
  await writeFile(file, fleet("others"));
  const { errors } = await own
    .source("north")
    .check({ changes: { mirror: "all" } }, { language: "en", admin: "anna" });
  expect(errors).toEqual({});
});

it("an account whose turn has not come yet is one that is still to start, and after that it is not", () => {
  const state = { phase: "starting", restarts: 0, enteredAt: 0, error: null, bridge: null };
  const isYetToStart = (again: number | null, phase = "starting") =>
    runStateOf({ ...state, phase, again }, false, 0).isYetToStart;
  expect([isYetToStart(1), isYetToStart(null), isYetToStart(1, "waiting")]).toEqual([true, false, false]);
});
