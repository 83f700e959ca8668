import { statements } from "../language/lists.js";
import { counted, msg, type Text, word } from "../language/text.js";
import { ignored } from "../runtime/failures.js";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { isoOrNull } from "../greenhouse/documents.js";
import { severities } from "../greenhouse/limits.js";
import { summaryOf } from "../greenhouse/summary.js";
import type { Clock } from "../runtime/clock.js";
import { type Files, textFile } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { AccountReport } from "../page/protocol.js";
import type { AccountState } from "./fleet.js";

export interface FleetReport {
  readonly at: string;
  readonly pid: number;
  readonly version: string;
  readonly accounts: Readonly<Record<string, AccountReport>>;
}

/** The state of an account, for `fleet status` and the page. */
export function accountReport({
  phase,
  since,
  restarts,
  error,
  again,
  owner,
  bridge,
}: AccountState): AccountReport {
  const facts = bridge?.status.facts() ?? null;
  const alarms = bridge?.alarms().filter(({ state }) => state !== "cleared") ?? [];
  return {
    state: phase,
    since: isoOrNull(since) ?? "",
    restarts,
    error,
    again: isoOrNull(again),
    platform: facts?.platform ?? null,
    broker: facts?.broker ?? null,
    ...(bridge?.summary() ?? summaryOf([])),
    alarms: alarms.length,
    worst: severities.find((one) => alarms.some(({ severity }) => severity === one)) ?? null,
    read_only: facts?.read_only ?? false,
    owner,
  };
}

const fileName = "fleet-status.json";
const lookEveryMs = 5_000;
/** An unchanged report is written only this often, as a thousand accounts make half a megabyte. */
const atLeastEveryMs = 20_000;
/** An older report is from a fleet that no longer runs; one missed write is allowed for. */
const oldMs = 60_000;

/**
 * Keeps the file of `fleet status` up to date. That command needs neither the fleet nor a login, as the file belongs to
 * the user.
 */
export async function keepStatus(
  dataDir: string,
  report: () => FleetReport,
  { clock, log, files }: { readonly clock: Clock; readonly log: Logger; readonly files?: Files },
  signal: AbortSignal,
): Promise<void> {
  const file = textFile(dataDir, fileName, files);
  let isTold = false;
  const told = (error: unknown) => {
    if (!isTold)
      log.warn({ reason: String(error) }, "`fleet status` cannot be told: the data directory takes no file");
    isTold = true;
  };
  let written = { accounts: "", at: -Infinity };
  while (!signal.aborted) {
    const { accounts, ...about } = report();
    const now = { accounts: JSON.stringify(accounts), at: clock.monotonic() };
    if (now.accounts !== written.accounts || now.at - written.at >= atLeastEveryMs) {
      // The JSON of many accounts is made only once.
      const text = `${JSON.stringify(about).slice(0, -1)},"accounts":${now.accounts}}`;
      await file.write(text).then(() => (written = now), told);
    }
    await clock.wait(lookEveryMs, signal).catch(ignored);
  }
  await rm(join(dataDir, fileName), { force: true }).catch(ignored);
}

/** The last report of the running fleet; null where none runs. */
export async function readStatus(dataDir: string, now: number): Promise<FleetReport | null> {
  const text = await textFile(dataDir, fileName).read();
  if (text === null) return null;
  try {
    const report = JSON.parse(text) as FleetReport;
    return now - Date.parse(report.at) <= oldMs ? report : null;
  } catch {
    return null;
  }
}

/** A line of `fleet status`; `mistake` is what is wrong with the account's file now. */
export function accountLine(
  { state, error, platform, broker, online, offline, alarms, worst, read_only, owner }: AccountReport,
  mistake: Text | null = null,
): Text {
  if (state === "refused")
    return msg`not started, as its file has mistakes: ${mistake ?? error ?? word("unknown")}`;
  if (state === "waiting") return msg`ended by an error and starts again: ${error ?? word("unknown")}`;
  if (state === "standby") return msg`stands by; ${owner ?? msg`another member`} may run it`;
  if (state !== "running") return word(state);
  const parts = [
    msg`platform ${platform === null ? msg`not asked yet` : word(platform)}`,
    msg`broker ${broker === null ? msg`not asked yet` : word(broker)}`,
    msg`${online} of ${online + offline} controllers online`,
    alarms === 0
      ? msg`no alarms`
      : msg`${counted(alarms, "alarm", "alarms")}, the worst: ${word(worst ?? "info")}`,
  ];
  return statements([...parts, ...(read_only ? [msg`read-only`] : [])]);
}
