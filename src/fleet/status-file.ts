import { rm } from "node:fs/promises";
import { join } from "node:path";
import { isoOrNull } from "../greenhouse/documents.js";
import { summaryOf } from "../greenhouse/summary.js";
import type { Clock } from "../runtime/clock.js";
import { textFile } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { AccountReport } from "../page/protocol.js";
import type { AccountState } from "./fleet.js";

export interface FleetReport {
  readonly at: string;
  readonly pid: number;
  readonly version: string;
  readonly accounts: Readonly<Record<string, AccountReport>>;
}

const severities = ["error", "warning", "info"] as const;

/** How an account is, for `fleet status` and the page. */
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
const writeEveryMs = 5_000;
/** A report this old was written by a fleet that does not run any more. */
const oldMs = 30_000;

/** Keeps `fleet status` told, which asks nobody and needs no login: the file is the user's own. */
export async function keepStatus(
  dataDir: string,
  report: () => FleetReport,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  signal: AbortSignal,
): Promise<void> {
  const file = textFile(dataDir, fileName);
  let isTold = false;
  while (!signal.aborted) {
    await file.write(JSON.stringify(report())).catch((error: unknown) => {
      if (!isTold)
        log.warn(
          { reason: String(error) },
          "`fleet status` cannot be told: the data directory takes no file",
        );
      isTold = true;
    });
    await clock.wait(writeEveryMs, signal).catch(() => undefined);
  }
  await rm(join(dataDir, fileName), { force: true }).catch(() => undefined);
}

/** What the running fleet wrote last; null where none runs. */
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

/** A line of `fleet status`: what a person has to know of an account. */
export function accountLine({
  state,
  error,
  platform,
  broker,
  online,
  offline,
  alarms,
  worst,
  read_only,
  owner,
}: AccountReport) {
  if (state === "refused") return `not started, as its file has mistakes: ${error ?? "unknown"}`;
  if (state === "waiting") return `ended by an error and starts again: ${error ?? "unknown"}`;
  if (state === "standby") return `stands by; ${owner ?? "another member"} may run it`;
  if (state !== "running") return state;
  const parts = [
    `platform ${platform ?? "not asked yet"}`,
    `broker ${broker ?? "not asked yet"}`,
    `${online} of ${online + offline} controllers online`,
    alarms === 0 ? "no alarms" : `${alarms} alarms, the worst: ${worst ?? "info"}`,
  ];
  return [...parts, ...(read_only ? ["read-only"] : [])].join("; ");
}
