import type { AccountReport } from "../page/protocol.js";

/* The pages of metrics of many accounts as one: each sample says of which account it is. */

/** The same for all accounts, as they share the process. */
const ofProcess: ReadonlySet<string> = new Set(
  ["build_info", "resident_memory_bytes", "heap_used_bytes", "event_loop_lag_seconds", "cluster_members"].map(
    (name) => `greenhouse2mqtt_${name}`,
  ),
);

interface Family {
  /** `# HELP` and `# TYPE`. */
  readonly head: readonly string[];
  readonly samples: string[];
}

/** Takes up the pages of accounts one after the other. */
export class AccountMetrics {
  readonly #families = new Map<string, Family>();

  add(account: string, page: string): void {
    let head: string[] = [];
    let family: Family = { head: [], samples: [] };
    for (const line of page.split("\n")) {
      const [, kind, name = ""] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? [];
      if (kind === "HELP") head = [line];
      else if (kind === "TYPE") {
        family = this.#families.get(name) ?? { head: [...head, line], samples: [] };
        this.#families.set(name, family);
      } else if (line !== "") this.#addSample(family, line, account);
    }
  }

  #addSample(family: Family, line: string, account: string): void {
    const [, name = "", labels = "", value = ""] = /^([^{ ]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (!ofProcess.has(name))
      family.samples.push(`${name}{account="${account}"${labels === "" ? "" : `,${labels}`}} ${value}`);
    else if (family.samples.length === 0) family.samples.push(line);
  }

  text(): string {
    return [...this.#families.values()].flatMap(({ head, samples }) => [...head, ...samples]).join("\n");
  }
}

const states = ["starting", "running", "waiting", "stopping", "refused", "standby"] as const;

/** What only the fleet knows of its accounts. */
export function fleetMetrics(accounts: ReadonlyMap<string, AccountReport>): string {
  const head = (name: string, help: string, type: string) => [
    `# HELP greenhouse2mqtt_${name} ${help}`,
    `# TYPE greenhouse2mqtt_${name} ${type}`,
  ];
  const each = (sample: (name: string, report: AccountReport) => readonly string[]) =>
    [...accounts].flatMap(([name, report]) => sample(name, report));
  return [
    ...head("account_state", "1 for the state that `fleet status` shows of the account", "gauge"),
    ...each((name, { state }) =>
      states.map(
        (one) => `greenhouse2mqtt_account_state{account="${name}",state="${one}"} ${Number(one === state)}`,
      ),
    ),
    ...head(
      "account_restarts_total",
      "How often the account ended by an error and was started again",
      "counter",
    ),
    ...each((name, { restarts }) => [
      `greenhouse2mqtt_account_restarts_total{account="${name}"} ${restarts}`,
    ]),
  ].join("\n");
}
