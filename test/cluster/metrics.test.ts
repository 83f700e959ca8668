import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ClusterMetrics } from "../../src/cluster/metrics.js";
import { pageOf } from "../../src/runtime/metrics.js";

const standing = { isOwner: true, leaseAgeMs: 1_500, members: 2 };

it("the figures of a cluster are those that deploy/prometheus/figures.md lists", async () => {
  const text = readFileSync(new URL("../../deploy/prometheus/figures.md", import.meta.url), "utf8");
  const page = await pageOf(new ClusterMetrics().metrics(standing));
  const listed = [...text.matchAll(/^\| `cluster_(\w+)` +\| (\w+) +\| (.*?) +\|$/gm)].map(
    ([, name, type, help]) => ({ name, type, help }),
  );
  const served = [...page.matchAll(/^# HELP greenhouse2mqtt_cluster_(\w+) (.*)\n# TYPE \S+ (\w+)$/gm)].map(
    ([, name, help, type]) => ({ name, type, help }),
  );
  expect(served.length).toBeGreaterThan(4);
  expect(served).toEqual(listed);
});

it("appends are counted with the time that they took, and those that were not acknowledged by themselves", async () => {
  const counted = new ClusterMetrics();
  counted.tookOver();
  counted.onAppend(3);
  counted.onAppend(700);
  counted.onNotAppended();
  const lines = (await pageOf(counted.metrics(standing))).split("\n");
  for (const line of [
    "owner 1",
    "lease_age_seconds 1.5",
    "members 2",
    "takeovers_total 1",
    "append_failures_total 1",
    'append_seconds_bucket{le="0.001"} 0',
    'append_seconds_bucket{le="0.005"} 1',
    'append_seconds_bucket{le="2"} 2',
    'append_seconds_bucket{le="+Inf"} 2',
    "append_seconds_count 2",
  ])
    expect(lines).toContain(`greenhouse2mqtt_cluster_${line}`);
});

it("a member that stands by has no lease whose age it could tell", async () => {
  const standby = { isOwner: false, leaseAgeMs: null, members: 2 };
  const page = await pageOf(new ClusterMetrics().metrics(standby));
  expect(page).toContain("\ngreenhouse2mqtt_cluster_owner 0\n");
  expect(page).toContain("\ngreenhouse2mqtt_cluster_lease_age_seconds NaN\n");
});
