import type { Configuration } from "../config/schema.js";
import { systemClock } from "../runtime/clock.js";
import type { Logger } from "../runtime/logger.js";
import { withBroker } from "./broker-errand.js";
import { CommandFailure, type Surroundings, untilStopped } from "./surroundings.js";

export interface DemoView {
  readonly out: (text: string) => void;
  readonly isColoured: boolean;
}

/** Colours are for people who look at a terminal and did not turn them off. */
export const demoView = ({ out, isTerminal, env }: Surroundings): DemoView => ({
  out,
  isColoured: isTerminal && (env["NO_COLOR"] ?? "") === "",
});

const shownController = "gh-0001";

export function greeting(port: number, platformUrl: string, base: string): string {
  const broker = `-h 127.0.0.1 -p ${port}`;
  return [
    `Simulated platform at ${platformUrl}`,
    `Broker: mqtt://127.0.0.1:${port}`,
    "",
    "Watch it with any MQTT client, for example:",
    `  mosquitto_sub ${broker} -v -t '${base}/#'`,
    `  mosquitto_sub ${broker} -v -t 'homeassistant/#'`,
    "Move a window, switch a fan (what becomes of it is shown here):",
    `  mosquitto_pub ${broker} -q 1 -t ${base}/${shownController}/actuator/left_skylight/set -m 45`,
    `  mosquitto_pub ${broker} -q 1 -t ${base}/${shownController}/actuator/circulation_fan/set -m on`,
    "Ctrl-C ends it.",
    "",
    "",
  ].join("\n");
}

type Fields = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";

/** Readings by sensor id, as their `/json` topics show them. */
export function readingsTable(readings: ReadonlyMap<string, Fields>, view: DemoView): string {
  const rows = [...readings].map(([id, { value, unit, quality }]) => [
    id,
    `${textOf(value)} ${textOf(unit)}`.trim(),
    textOf(quality),
  ]);
  const width = (column: number) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0));
  const [ids, values] = [width(0), width(1)];
  const lines = rows.map(
    ([id = "", value = "", quality = ""]) =>
      `  ${id.padEnd(ids)}  ${value.padEnd(values)}  ${coloured(quality, quality === "good" ? "green" : "yellow", view)}`,
  );
  return `Readings of ${shownController}, as the platform shows them:\n${lines.join("\n")}\n\n`;
}

/** One line for a result, as its topic shows it. */
export function resultLine(result: Fields, view: DemoView): string {
  const { controller, actuator, command, outcome, reason, message, duration_ms, read_back, finished_at } =
    result;
  const colour = good.has(textOf(outcome)) ? "green" : neutral.has(textOf(outcome)) ? "yellow" : "red";
  const why = textOf(reason) === "" ? "" : ` (${textOf(reason)})`;
  const took = typeof duration_ms === "number" ? ` after ${(duration_ms / 1000).toFixed(1)} s` : "";
  const shows = textOf(read_back) === "" ? "" : `, the platform shows ${textOf(read_back)}`;
  const sentence = textOf(message) === "" ? "" : `: ${textOf(message)}`;
  const what = `${textOf(controller)}/${textOf(actuator)} ${textOf(command)}`.trim();
  const time = new Date(textOf(finished_at)).toLocaleTimeString("sv-SE");
  return `${time} ${what} → ${coloured(textOf(outcome), colour, view)}${why}${took}${shows}${sentence}\n`;
}

const good: ReadonlySet<string> = new Set(["confirmed", "already"]);
const neutral: ReadonlySet<string> = new Set(["dry_run", "superseded"]);
const colours = { green: 32, yellow: 33, red: 31 } as const;

const coloured = (text: string, colour: keyof typeof colours, { isColoured }: DemoView): string =>
  isColoured ? `\u001b[${colours[colour]}m${text}\u001b[0m` : text;

export interface Watching {
  readonly configuration: Configuration;
  readonly view: DemoView;
  readonly log: Logger;
  readonly end: AbortSignal;
}

const settleMs = 1_000;
const mostSettles = 15;

/** Shows the readings of one greenhouse once they are there, then the result of each command. Never rejects. */
export async function watchDemo({ configuration, view, log, end }: Watching): Promise<void> {
  const base = configuration.mqtt.base_topic;
  const readings = new Map<string, Fields>();
  const sensorTopic = new RegExp(`/${shownController}/sensor/([^/]+)/json$`);
  const errand = {
    configuration: {
      ...configuration,
      mqtt: { ...configuration.mqtt, url: `mqtt://127.0.0.1:${configuration.broker.port}` },
    },
    log,
    subscriptions: [
      `${base}/${shownController}/sensor/+/json`,
      `${base}/+/actuator/+/result`,
      `${base}/+/parameter/+/result`,
    ],
    onMessage: ({ topic, payload }: { readonly topic: string; readonly payload: Uint8Array }) => {
      const fields = fieldsOf(payload);
      const [, sensor] = sensorTopic.exec(topic) ?? [];
      if (fields === null) return;
      if (sensor !== undefined) readings.set(sensor, fields);
      else view.out(resultLine(fields, view));
    },
  };
  await withBroker(errand, async () => {
    await settled(readings, end);
    if (readings.size > 0 && !end.aborted) view.out(readingsTable(readings, view));
    await untilStopped(end);
  }).catch((error: unknown) => {
    if (!(error instanceof CommandFailure)) throw error;
    log.warn(`what happens cannot be shown here: ${error.message}`);
  });
}

/** Until no further reading comes for a while. */
async function settled(readings: ReadonlyMap<string, Fields>, end: AbortSignal): Promise<void> {
  let seen = -1;
  for (let times = 0; times < mostSettles && (seen !== readings.size || seen === 0); times += 1) {
    seen = readings.size;
    await systemClock.wait(settleMs, end).catch(() => undefined);
  }
}

function fieldsOf(payload: Uint8Array): Fields | null {
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(payload));
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : null;
  } catch {
    return null;
  }
}
