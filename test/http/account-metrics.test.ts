import { expect, it } from "vitest";
import { AccountMetrics, fleetMetrics } from "../../src/http/account-metrics.js";
import type { AccountReport } from "../../src/page/protocol.js";

const page = (polls: number, rss: number) =>
  [
    "# HELP greenhouse2mqtt_polls_total Reads",
    "# TYPE greenhouse2mqtt_polls_total counter",
    `greenhouse2mqtt_polls_total{operation="a{b",result="ok"} ${polls}`,
    `greenhouse2mqtt_polls_total{operation="b",result="ok"} 0`,
    "",
    "# HELP greenhouse2mqtt_resident_memory_bytes Memory",
    "# TYPE greenhouse2mqtt_resident_memory_bytes gauge",
    `greenhouse2mqtt_resident_memory_bytes ${rss}`,
    "# HELP greenhouse2mqtt_duration_seconds Time",
    "# TYPE greenhouse2mqtt_duration_seconds histogram",
    'greenhouse2mqtt_duration_seconds_bucket{le="+Inf"} 1',
    "greenhouse2mqtt_duration_seconds_sum NaN",
    "",
  ].join("\n");

it("a sample says of which account it is, samples of one name stand together, and the process is told once", () => {
  const all = new AccountMetrics();
  all.add("east", page(1, 100));
  all.add("north", page(2, 101));
  expect(all.text().split("\n")).toEqual([
    "# HELP greenhouse2mqtt_polls_total Reads",
    "# TYPE greenhouse2mqtt_polls_total counter",
    'greenhouse2mqtt_polls_total{account="east",operation="a{b",result="ok"} 1',
    'greenhouse2mqtt_polls_total{account="east",operation="b",result="ok"} 0',
    'greenhouse2mqtt_polls_total{account="north",operation="a{b",result="ok"} 2',
    'greenhouse2mqtt_polls_total{account="north",operation="b",result="ok"} 0',
    "# HELP greenhouse2mqtt_resident_memory_bytes Memory",
    "# TYPE greenhouse2mqtt_resident_memory_bytes gauge",
    "greenhouse2mqtt_resident_memory_bytes 100",
    "# HELP greenhouse2mqtt_duration_seconds Time",
    "# TYPE greenhouse2mqtt_duration_seconds histogram",
    'greenhouse2mqtt_duration_seconds_bucket{account="east",le="+Inf"} 1',
    'greenhouse2mqtt_duration_seconds_sum{account="east"} NaN',
    'greenhouse2mqtt_duration_seconds_bucket{account="north",le="+Inf"} 1',
    'greenhouse2mqtt_duration_seconds_sum{account="north"} NaN',
  ]);
});

it("an account that does not run has a state and its restarts all the same", () => {
  const report = { state: "waiting", restarts: 3 } as AccountReport;
  const lines = fleetMetrics(new Map([["west", report]])).split("\n");
  expect(lines).toContain('greenhouse2mqtt_account_state{account="west",state="waiting"} 1');
  expect(lines).toContain('greenhouse2mqtt_account_state{account="west",state="running"} 0');
  expect(lines).toContain('greenhouse2mqtt_account_restarts_total{account="west"} 3');
});
