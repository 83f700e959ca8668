import { expect, it } from "vitest";
import { fleetMetrics } from "../../src/http/fleet-site.js";
import type { AccountReport } from "../../src/page/protocol.js";
import { AccountMetrics, Histogram, pageOf, register, Registry } from "../../src/runtime/metrics.js";

function metricsOf(polls: number, rss: number): Registry {
  const all = new Registry();
  const samples = [
    [{ operation: "a{b", result: 'o"k' }, polls],
    [{ operation: "b", result: "ok" }, 0],
  ] as const;
  register(all, [["polls_total", "Reads", samples, "operation", "result"]]);
  register(all, [["resident_memory_bytes", "Memory", rss]], true);
  register(all, [["age_seconds", "Age", NaN]]);
  const duration = { name: "duration_seconds", help: "Time", buckets: [1], registers: [all] };
  new Histogram(duration).observe(0.5);
  return all;
}

it("a sample says of which account it is, samples of one name stand together, and the process is told once", async () => {
  const all = new AccountMetrics();
  const east = metricsOf(1, 100);
  await all.add("east", east);
  await all.add("north", metricsOf(2, 101));
  const lines = (await all.page(() => Promise.resolve())).split("\n").filter((line) => line !== "");
  expect(lines).toEqual([
    "# HELP greenhouse2mqtt_polls_total Reads",
    "# TYPE greenhouse2mqtt_polls_total counter",
    'greenhouse2mqtt_polls_total{account="east",operation="a{b",result="o\\"k"} 1',
    'greenhouse2mqtt_polls_total{account="east",operation="b",result="ok"} 0',
    'greenhouse2mqtt_polls_total{account="north",operation="a{b",result="o\\"k"} 2',
    'greenhouse2mqtt_polls_total{account="north",operation="b",result="ok"} 0',
    "# HELP greenhouse2mqtt_resident_memory_bytes Memory",
    "# TYPE greenhouse2mqtt_resident_memory_bytes gauge",
    "greenhouse2mqtt_resident_memory_bytes 100",
    "# HELP greenhouse2mqtt_age_seconds Age",
    "# TYPE greenhouse2mqtt_age_seconds gauge",
    'greenhouse2mqtt_age_seconds{account="east"} NaN',
    'greenhouse2mqtt_age_seconds{account="north"} NaN',
    "# HELP duration_seconds Time",
    "# TYPE duration_seconds histogram",
    'duration_seconds_bucket{account="east",le="1"} 1',
    'duration_seconds_bucket{account="east",le="+Inf"} 1',
    'duration_seconds_sum{account="east"} 0.5',
    'duration_seconds_count{account="east"} 1',
    'duration_seconds_bucket{account="north",le="1"} 1',
    'duration_seconds_bucket{account="north",le="+Inf"} 1',
    'duration_seconds_sum{account="north"} 0.5',
    'duration_seconds_count{account="north"} 1',
  ]);
  // What an account shows by itself is as before.
  expect(await pageOf(east)).toContain('\ngreenhouse2mqtt_polls_total{operation="b",result="ok"} 0\n');
});

it("an account that does not run has a state and its restarts all the same", async () => {
  const report = { state: "waiting", restarts: 3 } as AccountReport;
  const lines = (await pageOf(fleetMetrics(new Map([["west", report]])))).split("\n");
  expect(lines).toContain('greenhouse2mqtt_account_state{account="west",state="waiting"} 1');
  expect(lines).toContain('greenhouse2mqtt_account_state{account="west",state="running"} 0');
  expect(lines).toContain('greenhouse2mqtt_account_restarts_total{account="west"} 3');
});
