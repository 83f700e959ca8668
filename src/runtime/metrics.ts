import { AggregatorRegistry, Counter, Gauge, type Metric, type Registry } from "prom-client";

/* What is counted, as programs for monitoring read it. Everything is written by prom-client. */

export { Counter, Histogram, Registry } from "prom-client";

export const prefix = "greenhouse2mqtt_";

export type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];
/** What ends with `_total` counts. Further words are labels. */
export type Row = readonly [
  name: string,
  help: string,
  value: number | boolean | readonly Sample[],
  ...labels: string[],
];

/** Makes metrics with the values of this moment. `isOfProcess`: of several accounts in a process all have the same ones. */
export function register(registry: Registry, rows: readonly Row[], isOfProcess = false): void {
  for (const [name, help, value, ...labelNames] of rows) {
    const samples: readonly Sample[] = typeof value === "object" ? value : [[{}, Number(value)]];
    const Kind = name.endsWith("_total") ? Counter : Gauge;
    const aggregator = isOfProcess ? "first" : "sum";
    const metric = new Kind({ name: prefix + name, help, labelNames, aggregator, registers: [registry] });
    for (const [labels, count] of samples) metric.inc(labels, count);
  }
}

/** The text of a page; prom-client writes `Nan`, the format says `NaN`. */
export const pageOf = async (registry: Registry): Promise<string> =>
  (await registry.metrics()).replaceAll(/ Nan$/gm, " NaN");

type Family = Awaited<ReturnType<Metric["get"]>>;

/** The metrics of many accounts as one page: each sample says of which account it is, and those of the process stand there once. */
export class AccountMetrics {
  /** What each account has of a metric, by its name. */
  readonly #families = new Map<string, Family[]>();

  async add(account: string, registry: Registry): Promise<void> {
    for (const metric of await registry.getMetricsAsJSON()) {
      const values = metric.values.map((one) => ({ ...one, labels: { account, ...one.labels } }));
      const family = this.#families.get(metric.name) ?? [];
      this.#families.set(metric.name, family);
      family.push(metric.aggregator === "first" ? metric : { ...metric, values });
    }
  }

  /** `pause` comes between two metrics. */
  async page(pause: () => Promise<unknown>): Promise<string> {
    const texts: string[] = [];
    for (const family of this.#families.values()) {
      texts.push(await pageOf(AggregatorRegistry.aggregate(family.map((one) => [one]))));
      await pause();
    }
    return texts.join("\n");
  }
}
