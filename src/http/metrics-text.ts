/** The text format of Prometheus, as much of it as counters, gauges and histograms need. */
export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

export interface MetricSample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** A histogram's parts. */
  readonly suffix?: "_bucket" | "_sum" | "_count";
}

export interface MetricFamily {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly samples: readonly MetricSample[];
}

/** The page, one line a sample; a family without samples still says its type. */
export function metricsText(families: Iterable<MetricFamily>): string {
  const lines: string[] = [];
  for (const { name, type, help, samples } of families) {
    lines.push(`# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`);
    lines.push(`# TYPE ${name} ${type}`);
    for (const { value, labels = {}, suffix = "" } of samples)
      lines.push(`${name}${suffix}${labelText(labels)} ${valueText(value)}`);
  }
  return `${lines.join("\n")}\n`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escaped = (text: string) =>
  text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

function valueText(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}
