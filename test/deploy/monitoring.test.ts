import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { outcomes } from "../../src/greenhouse/command/outcomes.js";
import { alarmTitles } from "../../src/greenhouse/alarms.js";
import { platformStates } from "../../src/greenhouse/model.js";
import { textOf } from "./support/project.js";

/* Rules and dashboard name metrics that the bridge serves: deploy/prometheus/figures.md lists these, and another test keeps it true. */

interface Metric {
  readonly type: string;
  readonly labels: readonly string[];
}

async function metrics(): Promise<ReadonlyMap<string, Metric>> {
  const text = await textOf("deploy/prometheus/figures.md");
  const rows = [...text.matchAll(/^\| `(greenhouse2mqtt_\w+)` +\| (\w+) +\| (.*?) +\|/gm)];
  const ofCluster = [...text.matchAll(/^\| `(cluster_\w+)` +\| (\w+) +\|/gm)];
  return new Map([
    ...rows.map(([, name = "", type = "", labels = ""]): [string, Metric] => [
      name,
      { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? "") },
    ]),
    ...ofCluster.map(([, name = "", type = ""]): [string, Metric] => [
      `greenhouse2mqtt_${name}`,
      { type, labels: [] },
    ]),
  ]);
}

const values: Readonly<Record<string, readonly string[]>> = {
  outcome: outcomes,
  state: platformStates,
  type: Object.keys(alarmTitles),
};
/** What Prometheus adds, and what only functions and variables are. */
const given = ["instance", "job"];

/** What is wrong with an expression. */
function problemsOf(expr: string, known: ReadonlyMap<string, Metric>): readonly string[] {
  return [...expr.matchAll(/(greenhouse2mqtt_\w+)(?:\{([^}]*)\})?(\[)?/g)].flatMap(
    ([, used = "", filter = "", range]) => {
      const metric = known.get(used.replace(/_bucket$/, ""));
      if (metric === undefined) return [`there is no metric ${used}`];
      const isCounter = metric.type === "counter" || used.endsWith("_bucket");
      const wrong = isCounter === (range !== undefined) ? [] : [`${used} is a ${metric.type}`];
      const labels = [...filter.matchAll(/(\w+)=~?"([^"]*)"/g)].flatMap(([, label = "", text = ""]) => {
        if (given.includes(label)) return [];
        if (!metric.labels.includes(label)) return [`${used} has no label ${label}`];
        return text
          .split("|")
          .filter((word) => !values[label]?.includes(word))
          .map((word) => `${label} is never ${word}`);
      });
      return [...wrong, ...labels];
    },
  );
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

const rules = async () =>
  (
    parse(await textOf("deploy/prometheus/greenhouse2mqtt.rules.yaml")) as { groups: { rules: Rule[] }[] }
  ).groups.flatMap((group) => group.rules);

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
}

const dashboard = async () => JSON.parse(await textOf("deploy/grafana/greenhouse2mqtt.json")) as Dashboard;

describe("an expression is judged", () => {
  it.each([
    ["greenhouse2mqtt_nothing == 0", ["there is no metric greenhouse2mqtt_nothing"]],
    ["greenhouse2mqtt_commands_total > 0", ["greenhouse2mqtt_commands_total is a counter"]],
    ["rate(greenhouse2mqtt_overdue[5m])", ["greenhouse2mqtt_overdue is a gauge"]],
    ['greenhouse2mqtt_alarms{kind="flood"}', ["greenhouse2mqtt_alarms has no label kind"]],
    ['greenhouse2mqtt_alarms{type=~"flood|fire"}', ["type is never fire"]],
    ['greenhouse2mqtt_alarms{type="flood",instance=~"$instance"} > 0', []],
  ])("%s", async (expr, expected) => expect(problemsOf(expr, await metrics())).toEqual(expected));
});

describe("the rules for Prometheus", () => {
  it("name metrics, labels and words that exist", async () => {
    const known = await metrics();
    expect(
      (await rules()).flatMap(({ alert, expr }) => problemsOf(expr, known).map((one) => `${alert}: ${one}`)),
    ).toEqual([]);
  });

  it("say what is wrong and what to do, under names of their own", async () => {
    const all = await rules();
    expect(new Set(all.map(({ alert }) => alert)).size).toBe(all.length);
    for (const { expr, labels, annotations, for: during = "1m" } of all) {
      expect(labels.severity).toMatch(/^(?:critical|warning|info)$/);
      expect(annotations.summary).toMatch(/^\{\{ \$labels\.instance \}\}: /);
      expect(annotations.description).toMatch(/\.$/);
      expect(during).toMatch(/^\d+[mh]$/);
      const used = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label ?? "");
      const known = await metrics();
      const labelsOf = [...expr.matchAll(/greenhouse2mqtt_\w+/g)].flatMap(
        ([name]) => known.get(name)?.labels ?? [],
      );
      expect(used.filter((label) => !given.includes(label) && !labelsOf.includes(label))).toEqual([]);
    }
  });
});

describe("the dashboard for Grafana", () => {
  it("names metrics, labels and words that exist", async () => {
    const known = await metrics();
    const { panels } = await dashboard();
    expect(panels.length).toBeGreaterThan(10);
    expect(
      panels.flatMap(({ title, targets }) =>
        targets.flatMap(({ expr }) => problemsOf(expr, known).map((one) => `${title}: ${one}`)),
      ),
    ).toEqual([]);
  });

  it("has panels that do not cover each other, and asks for one bridge or all", async () => {
    const { panels, templating } = await dashboard();
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)} ${y + Math.floor(n / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
    expect(templating.list.map(({ name }) => name)).toEqual(["datasource", "instance"]);
    expect(
      panels.flatMap(({ targets }) => targets).every(({ expr }) => expr.includes('instance=~"$instance"')),
    ).toBe(true);
  });
});
