import { Counter, Gauge, type Registry } from "prom-client";

/* Metrics for monitoring programs; prom-client writes the text. */

export { Counter, Histogram, Registry } from "prom-client";

export const prefix = "greenhouse2mqtt_";

export type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];
/** A metric; a name with `_total` makes a counter. Further words are its labels. */
export type Row = readonly [
  name: string,
  help: string,
  value: number | boolean | readonly Sample[],
  ...labels: string[],
];

/**
 * Registers metrics with their present values. `isOfProcess`: the values are the same for all accounts of a process.
 */
export function register(registry: Registry, rows: readonly Row[], isOfProcess = false): void {
  for (const [name, help, value, ...labelNames] of rows) {
    const samples: readonly Sample[] = typeof value === "object" ? value : [[{}, Number(value)]];
    const Kind = name.endsWith("_total") ? Counter : Gauge;
    const aggregator = isOfProcess ? "first" : "sum";
    const metric = new Kind({ name: prefix + name, help, labelNames, aggregator, registers: [registry] });
    for (const [labels, count] of samples) metric.inc(labels, count);
  }
}

const withNaN = (text: string): string => text.replaceAll(/ Nan$/gm, " NaN");

/** The text of the metrics page; prom-client writes `Nan` where the format says `NaN`. */
export const pageOf = async (registry: Registry): Promise<string> => withNaN(await registry.metrics());

/** The HELP and TYPE lines of a metric, and its samples as lines. */
interface Family {
  readonly head: string;
  readonly samples: string[];
}

/**
 * The metrics of many accounts on one page: each sample has its account as a label, and those of the process stand
 * there once. They are kept as text, as a thousand accounts have a quarter of a million samples.
 */
export class AccountMetrics {
  readonly #families = new Map<string, Family>();

  async add(account: string, registry: Registry): Promise<void> {
    for (const metric of registry.getMetricsAsArray()) {
      const known = this.#families.get(metric.name);
      const isOfProcess = metric.aggregator === "first";
      if (isOfProcess && known !== undefined) continue;
      const text = withNaN(await registry.getSingleMetricAsString(metric.name));
      const [help = "", type = "", ...lines] = text.split("\n");
      const family = known ?? { head: `${help}\n${type}`, samples: [] };
      this.#families.set(metric.name, family);
      const own = isOfProcess ? lines : lines.map((line) => ofAccount(account, line));
      if (own.length > 0) family.samples.push(own.join("\n"));
    }
  }

  /** `pause` is awaited between two metrics. */
  async page(pause: () => Promise<unknown>): Promise<string> {
    const texts: string[] = [];
    for (const { head, samples } of this.#families.values()) {
      texts.push([head, ...samples, ""].join("\n"));
      await pause();
    }
    return texts.join("\n");
  }
}

/** The sample with the account as its first label. */
function ofAccount(account: string, sample: string): string {
  const [name = ""] = /^[^{ ]+/.exec(sample) ?? [];
  const rest = sample.slice(name.length);
  const labels = rest.startsWith("{") ? `,${rest.slice(1)}` : `}${rest}`;
  return `${name}{account="${account}"${labels}`;
}
