import { constants } from "node:fs";
import { access, open, rm, stat, statfs } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { spoken } from "./clock-check.js";
import { failed, ok, warning, type Verdict } from "./finding.js";
import type { Check, Scene } from "./scene.js";

/** The journal alone may take 50 MB. */
const enoughBytes = 100 * 1024 * 1024;

export const dataChecks: readonly Check[] = [
  { id: "data_dir", needs: [], run: directoryVerdict },
  { id: "lock", needs: [], run: lockVerdict },
  { id: "last_run", needs: [], run: lastRunVerdict },
];

async function directoryVerdict({ configuration }: Scene): Promise<Verdict> {
  const directory = configuration.data_dir;
  try {
    const existing = await nearest(directory);
    if (existing === directory) await writeAndRemove(directory);
    else await access(existing, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = await statfs(existing);
    const free = bavail * bsize;
    if (free < enoughBytes)
      return warning(
        `${directory} has only ${Math.round(free / 1_048_576)} MB left; the journal may take 50`,
        "make room on that disk",
      );
    return ok(existing === directory ? `${directory} can be written` : `${directory} can be created`);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return failed(
      `${directory} cannot be written (${code}): without a journal no command is taken`,
      "make it a folder that belongs to the user the bridge runs as, or set data_dir to one",
    );
  }
}

/** The folder itself, or the closest one above it that exists. Rejects where something on the way is no folder. */
async function nearest(path: string): Promise<string> {
  try {
    if ((await stat(path)).isDirectory()) return path;
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (isMissing && dirname(path) !== path) return nearest(dirname(path));
    throw error;
  }
  throw Object.assign(new Error("not a folder"), { code: "ENOTDIR" });
}

async function writeAndRemove(directory: string): Promise<void> {
  const path = join(directory, `.doctor-${randomBytes(6).toString("hex")}`);
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile("written by greenhouse2mqtt doctor, can be deleted\n");
    await file.sync();
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}

async function lockVerdict({ ports, evidence }: Scene): Promise<Verdict> {
  const holder = await ports.holder();
  const { bridgeOnline } = evidence;
  if (holder === null)
    return bridgeOnline === true
      ? warning(
          "no bridge works in this data directory, but one with this base topic is online at the broker",
          "two bridges need a mqtt.client_id, mqtt.base_topic and data_dir of their own each",
        )
      : ok("no bridge works in this data directory now");
  const who = `process ${holder.pid}, since ${holder.since}`;
  return bridgeOnline === true
    ? ok(`the bridge is running here (${who}) and online at the broker`)
    : warning(
        `the data directory is in use by a running bridge (${who})${bridgeOnline === false ? ", which is not online at this broker" : ""}`,
        "look at its log; a second bridge needs a data_dir of its own",
      );
}

async function lastRunVerdict({ ports }: Scene): Promise<Verdict> {
  const run = await ports.lastRun();
  if (run.startedAt === null && run.newestAt === null && run.open === 0)
    return ok("the journal is empty: no bridge has run here yet");
  const age = (at: string) => spoken(Math.max(0, Math.round((ports.clock.now() - Date.parse(at)) / 1000)));
  const started = run.startedAt === null ? "" : `started ${age(run.startedAt)} ago`;
  const newest =
    run.newestAt === null
      ? "no command yet"
      : `newest command ${age(run.newestAt)} ago${run.newestOutcome === null ? "" : ` (${run.newestOutcome})`}`;
  const facts = [started, newest].filter((part) => part !== "").join(", ");
  const isRunning = (await ports.holder()) !== null;
  if (run.open > 0 && !isRunning)
    return warning(
      `${facts}; ${run.open} ${run.open === 1 ? "command has" : "commands have"} no result yet`,
      "start the bridge: it reads them back and settles them, and sends nothing again",
    );
  if (!isRunning && !run.stopped)
    return warning(
      `${facts}; it ended without saying so`,
      "a power cut, a kill or a crash: look at its log of that time",
    );
  if (run.problems > 0)
    return warning(
      `${facts}; the newest command of ${run.problems} ${run.problems === 1 ? "actuator" : "actuators"} ended badly`,
      "`greenhouse2mqtt journal` names them",
    );
  return ok(facts);
}
