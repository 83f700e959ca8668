import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { outcomes, refusalReasons } from "../../src/greenhouse/command/outcomes.js";
import { otherClient, until } from "../mqtt-connection/support.js";
import { freePort } from "../support/mosquitto.js";
import { bridge, platform } from "../bridge/support/bridge.js";

interface Listed {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** The rows of the table of deploy/prometheus/figures.md. */
function documented(): readonly Listed[] {
  const text = readFileSync(new URL("../../deploy/prometheus/figures.md", import.meta.url), "utf8");
  return [...text.matchAll(/^\| `(\w+)` +\| (\w+) +\| (.*?) +\| (.*?) +\|$/gm)].map(
    ([, name = "", type = "", labels = "", help = ""]) => ({
      name,
      type,
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? ""),
      help,
    }),
  );
}

/** What a page of metrics declares, with the labels its samples have. */
function served(page: string): readonly Listed[] {
  const types = [...page.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  return types.map(([, name = "", type = ""]) => {
    const labels = new Set<string>();
    for (const [, text = ""] of page.matchAll(new RegExp(`^${name}(?:_bucket)?\\{(.*)\\} `, "gm")))
      for (const [, label = ""] of text.matchAll(/(\w+)="/g)) labels.add(label);
    const help = new RegExp(`^# HELP ${name} (.*)$`, "m").exec(page)?.[1] ?? "";
    return { name, type, labels: [...labels], help };
  });
}

function valueOf(page: string, sample: string): number {
  const line = page.split("\n").find((one) => one.startsWith(`${sample} `));
  return Number(line?.slice(sample.length + 1));
}

const fan = 'fan: { kind: circulation_fan, address: "150", settle: 0s }';
const guards = "{ wind: { sensor: weather/wind, above: 12, allow: [close] } }";
const roof = `roof: { kind: skylight, address: "101", limits: { guards: ${guards} } }`;

async function started() {
  const [port, httpPort] = [await freePort(), await freePort()];
  const simulator = await platform();
  await bridge(
    [
      `broker: { port: ${port} }`,
      `http: { port: ${httpPort}, token: metrics-token }`,
      "polling: { controllers: 1s, sensors: 1s, running_status: 1s, actuators: 1s }",
      "weather: { wind: { topic: weather/wind, stale_after: 1s } }",
      `controllers: { GH-0001: { actuators: { ${[fan, roof].join(", ")} } } }`,
    ].join("\n"),
    simulator,
  );
  const url = `http://127.0.0.1:${httpPort}`;
  const page = async () => {
    const headers = { authorization: "Bearer metrics-token" };
    const answer = await fetch(`${url}/metrics`, { headers }).catch(() => null);
    return answer?.status === 200 ? await answer.text() : "";
  };
  const pageWith = async (condition: (text: string) => boolean) => {
    for (;;) {
      const text = await page();
      if (condition(text)) return text;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return { url, port, pageWith };
}

describe("/metrics", () => {
  it("a running bridge serves exactly what deploy/prometheus/figures.md lists, every sample once", async () => {
    const { pageWith } = await started();
    const page = await pageWith((text) => text.includes("\ngreenhouse2mqtt_broker_connected 1"));
    const byName = (one: Listed, other: Listed) => one.name.localeCompare(other.name);
    expect(documented().length).toBeGreaterThan(40);
    expect([...served(page)].sort(byName)).toEqual([...documented()].sort(byName));
    const samples = page.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    const names = samples.map((line) => line.slice(0, line.lastIndexOf(" ")));
    expect(new Set(names).size).toBe(names.length);
    // Every word is there from the start, so that a rate can be taken.
    expect(page.match(/^greenhouse2mqtt_commands_total\{.* 0$/gm)).toHaveLength(outcomes.length);
    expect(page.match(/^greenhouse2mqtt_command_refusals_total\{.* 0$/gm)).toHaveLength(
      refusalReasons.length,
    );
  });

  it("counts what happens: polls, requests, commands and their time", async () => {
    const { port, pageWith } = await started();
    const before = await pageWith((text) => valueOf(text, 'greenhouse2mqtt_readings{quality="good"}') > 0);
    expect(valueOf(before, 'greenhouse2mqtt_polls_total{operation="sensors",result="ok"}')).toBeGreaterThan(
      0,
    );
    expect(valueOf(before, "greenhouse2mqtt_requests_total")).toBeGreaterThan(2);
    expect(valueOf(before, 'greenhouse2mqtt_platform_state{state="online"}')).toBe(1);
    expect(valueOf(before, 'greenhouse2mqtt_commands_total{outcome="confirmed"}')).toBe(0);
    const client = await otherClient(`mqtt://127.0.0.1:${port}`);
    const results: string[] = [];
    client.on("message", (_, payload) => results.push(payload.toString()));
    await client.subscribeAsync("greenhouse/gh-0001/result", { qos: 1 });
    const set = "greenhouse/gh-0001/actuator/fan/set";
    await client.publishAsync(set, "sideways", { qos: 1 });
    await client.publishAsync(set, "on", { qos: 1 });
    await until(() => results.length >= 2, "answered twice", results);
    const after = await pageWith(() => true);
    expect(valueOf(after, 'greenhouse2mqtt_commands_total{outcome="confirmed"}')).toBe(1);
    expect(valueOf(after, 'greenhouse2mqtt_commands_total{outcome="refused"}')).toBe(1);
    expect(valueOf(after, 'greenhouse2mqtt_command_refusals_total{reason="unknown_command"}')).toBe(1);
    expect(valueOf(after, "greenhouse2mqtt_command_duration_seconds_count")).toBe(1);
    expect(valueOf(after, 'greenhouse2mqtt_command_duration_seconds_bucket{le="+Inf"}')).toBe(1);
    expect(valueOf(after, "greenhouse2mqtt_command_duration_seconds_sum")).toBeGreaterThan(0);
    expect(valueOf(after, "greenhouse2mqtt_control_posts_total")).toBe(1);
    expect(valueOf(after, 'greenhouse2mqtt_broker_self_tests_total{result="heard"}')).toBeGreaterThan(0);
  });

  it("tells of alarms, guards and locks", async () => {
    const { port, pageWith } = await started();
    await pageWith((text) => text.includes("\ngreenhouse2mqtt_broker_connected 1"));
    const client = await otherClient(`mqtt://127.0.0.1:${port}`);
    const lock = JSON.stringify({ controller: "gh-0001", actuator: "fan", by: "ben" });
    // Nobody measures the wind here, so its guard holds.
    await pageWith((text) => valueOf(text, "greenhouse2mqtt_guards_holding") === 1);
    await client.publishAsync("greenhouse/bridge/request/lock", lock, { qos: 1 });
    const page = await pageWith(
      (text) =>
        valueOf(text, "greenhouse2mqtt_actuators_locked") === 1 &&
        valueOf(text, 'greenhouse2mqtt_alarms{type="guard_blind"}') === 1,
    );
    expect(valueOf(page, "greenhouse2mqtt_guards_blind")).toBe(1);
    expect(valueOf(page, "greenhouse2mqtt_alarms_unacknowledged")).toBeGreaterThan(0);
    expect(valueOf(page, 'greenhouse2mqtt_alarms{type="flood"}')).toBe(0);
  });

  it("needs the token, unlike the health check", async () => {
    const { url, pageWith } = await started();
    await pageWith((text) => text !== "");
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    const wrong = { authorization: "Bearer metrics-tokem" };
    expect((await fetch(`${url}/metrics`, { headers: wrong })).status).toBe(401);
    expect([200, 503]).toContain((await fetch(`${url}/healthz`)).status);
    const page = await pageWith(() => true);
    expect(valueOf(page, "greenhouse2mqtt_http_wrong_tokens_total")).toBe(1);
  });
});
