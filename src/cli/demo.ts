import { anyOf } from "../runtime/signals.js";
import { joined, msg, textOf } from "../language/text.js";
import { ignored, nullIfFailed } from "../runtime/failures.js";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runBridge } from "../bridge.js";
import { features } from "../config/features.js";
import { loadConfiguration, withTexts } from "../config/load.js";
import { problemText } from "../settings/problem.js";
import type { Configuration } from "../config/schema.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { untilAborted, systemClock, systemRandom } from "../runtime/clock.js";
import { readText } from "../runtime/file-system.js";
import { inert } from "../runtime/plain-text.js";
import { isLoopback } from "../runtime/sockets.js";
import { commandSentences } from "../commands/log-lines.js";
import { adjustableLogs, createLogger, RecentLog } from "../runtime/log.js";
import {
  FaultFileError,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
  profileNames,
  readingNames,
} from "../simulator/simulator.js";
import {
  type DemoView,
  demoView,
  type Fields,
  noteLine,
  aboutReading,
  isOfSensor,
  readingOf,
  readingsTable,
  resultLine,
  shownController,
} from "./demo-view.js";
import { loggerFor, overridden } from "../terminal/common.js";
import { doctorFor } from "./run.js";
import { documentOf, withBroker } from "../terminal/running-bridge.js";
import { CommandFailure, usageFailure } from "../runtime/ending.js";
import { refuseHostName } from "../terminal/usage.js";
import {
  type CommonOptions,
  endOfUse,
  programVersion,
  type ProcessContext,
  screenOf,
} from "../terminal/context.js";
import type { Tell } from "../language/words.js";
import { frostBegins, frostSpeed, tellFrost, withFrost } from "./frost.js";
import { Seen, type Stage, stormBegins, stormSpeed, tellStorm, withLimits } from "./storm.js";

/** The user who may command in the demo. */
const demoUser = "demo";

/** A simple password if only this computer reaches the page; else one that nobody guesses. */
const demoPassword = (host: string): string => (isLoopback(host) ? "demo" : randomBytes(8).toString("hex"));

/** What the greeting says of the demo's page. */
interface DemoPage {
  /** Words for the page's address. */
  readonly pageAddress: Pick<Awaited<ReturnType<typeof features.http.pageAddress>>, "addressOf" | "sshHint">;
  readonly host: string;
  readonly password: string;
  readonly env: ProcessContext["env"];
  readonly tell: Tell;
}

export function greeting(
  { page, broker: port }: Readonly<Record<"page" | "broker", number>>,
  platformUrl: string,
  base: string,
  { host, password, env, tell, pageAddress }: DemoPage,
): string {
  const { addressOf, sshHint } = pageAddress;
  const broker = clientOptions(port);
  const url = addressOf(host, page);
  const hint = sshHint({ host }, page, env);
  const lines = [
    msg`Page: ${url}  (name ${demoUser}, password ${password}; may command)`,
    ...(hint === null ? [] : [msg`To see it, ${hint}`]),
    msg`Simulated platform at ${platformUrl}`,
    msg`Broker: mqtt://127.0.0.1:${port}`,
    "",
    msg`Watch it with any MQTT client, for example:`,
    `  mosquitto_sub ${broker} -v -t '${base}/#'`,
    `  mosquitto_sub ${broker} -v -t 'homeassistant/#'`,
    msg`Ctrl-C ends it.`,
    "",
    "",
  ];
  return tell(joined(lines, "\n"));
}

const clientOptions = (port: number): string => `-h 127.0.0.1 -p ${port}`;

/** How to send a command; shown once the bridge is there, as the broker keeps no commands for it. */
export function firstCommands({ broker: { port }, mqtt: { base_topic: base } }: Around, tell: Tell): string {
  const publish = `  mosquitto_pub ${clientOptions(port)} -q 1 -t ${base}/${shownController}/actuator`;
  const lines = [
    msg`Move a window or switch a fan (the result appears here):`,
    `${publish}/left_skylight/set -m 45`,
    `${publish}/circulation_fan/set -m on`,
    "",
    "",
  ];
  return tell(joined(lines, "\n"));
}

interface Around {
  readonly broker: Pick<Configuration["broker"], "port">;
  readonly mqtt: Pick<Configuration["mqtt"], "base_topic">;
}

/** Makes texts harmless before they are drawn: coloured output is not filtered when it is written. */
const inertFields = (fields: Fields | null): Fields | null =>
  JSON.parse(JSON.stringify(fields), (_, value: unknown) =>
    typeof value === "string" ? inert(value) : value,
  ) as Fields | null;

/** Shows the readings of one greenhouse once they are there, then whatever happens; with a story, tells it too. */
async function watchDemo(
  configuration: Configuration,
  simulator: Simulator,
  story: Story | null,
  view: DemoView,
  end: AbortSignal,
): Promise<void> {
  const base = configuration.mqtt.base_topic;
  const readings = new Map<string, Fields>();
  const seen = new Seen(base);
  // Otherwise documents that exist already would be shown before the first word of a story.
  const shown = { isBegun: story === null };
  await withBroker(configuration, async (client) => {
    client.watch(showMessages(readings, { seen, view, shown }));
    await client.subscribe([
      ...[`${base}/+/sensor/+/json`, `${base}/alarm/+`, `${base}/+/parameter/+/result`],
      ...["result", "lock", "lease", "allowed"].map((leaf) => `${base}/+/actuator/+/${leaf}`),
    ]);
    const publish = (topic: string, payload: string) => client.publish(topic, payload);
    const station = speakForStation(simulator, publish, end);
    await settle(readings, end);
    if (readings.size > 0 && !end.aborted)
      view.out(readingsTable(readings, view) + firstCommands(configuration, view.tell));
    shown.isBegun = true;
    const { control, state } = simulator;
    const stage = { control, publish, base, speed: state.settings.speed, seen, view };
    await story?.tell(stage, end);
    await untilAborted(end);
    await station;
  });
}

interface Showing {
  readonly seen: Seen;
  readonly view: DemoView;
  readonly shown: { readonly isBegun: boolean };
  readonly all: ReadonlyMap<string, Fields>;
}

/** Shows each message, and notes the readings of the greenhouse that is shown. */
function showMessages(readings: Map<string, Fields>, showing: Omit<Showing, "all">) {
  /** Of all houses, by `<controller>/<sensor>`. */
  const all = new Map<string, Fields>();
  /** Alarms of readings that have not come yet: a topic's alarm has no facts, so its line says the reading's value. */
  const waiting = new Map<string, () => void>();
  return ({ topic, payload }: { readonly topic: string; readonly payload: Uint8Array }): void => {
    const fields = inertFields(documentOf(payload.toString()));
    const [, house = "", sensor] = /\/([^/]+)\/sensor\/([^/]+)\/json$/.exec(topic) ?? [];
    if (sensor === undefined) {
      const show = () => showWhatCame(inert(topic), fields, { ...showing, all });
      const about = isOfSensor(fields) ? aboutReading(fields) : null;
      if (about === null || all.has(about)) show();
      else waiting.set(about, show);
      return;
    }
    const about = inert(`${house}/${sensor}`);
    all.set(about, fields ?? {});
    if (house === shownController) readings.set(inert(sensor), fields ?? {});
    waiting.get(about)?.();
    waiting.delete(about);
  };
}

function showWhatCame(topic: string, fields: Fields | null, { seen, view, shown, all }: Showing): void {
  if (!topic.endsWith("/result")) {
    const line = noteLine(topic, fields, seen.stands(topic, fields), view, readingOf(fields ?? {}, all));
    if (shown.isBegun) view.out(line ?? "");
  } else if (fields !== null) {
    view.out(resultLine(fields as unknown as CommandResult, view));
    seen.onResult(fields);
  }
}

/** Publishes the values of the simulated weather station. */
async function speakForStation(
  { control, state }: Simulator,
  publish: (topic: string, payload: string) => Promise<unknown>,
  end: AbortSignal,
): Promise<void> {
  const gapMs = Math.min(2_000, Math.max(250, 20_000 / state.settings.speed));
  while (!end.aborted) {
    for (const { topic, payload } of control.weather()) publish(topic, payload).catch(ignored);
    await systemClock.wait(gapMs, end).catch(ignored);
  }
}

const settleMs = 1_000;
const mostSettles = 15;

/** Resolves when no further reading has come for a while. */
async function settle(readings: ReadonlyMap<string, Fields>, end: AbortSignal): Promise<void> {
  let seen = -1;
  for (let times = 0; times < mostSettles && (seen !== readings.size || seen === 0); times += 1) {
    seen = readings.size;
    await systemClock.wait(settleMs, end).catch(ignored);
  }
}

type DemoOptions = Pick<SimulateOptions, "controllers" | "seed" | "language"> & {
  /** Absent: 1, and in a story as fast as one can watch it. */
  readonly speed?: number;
  /** The address at which the page listens; the broker, which has no login, stays on this computer. */
  readonly host: string;
  /** Plays a storm day. */
  readonly storm?: boolean;
  /** Plays a frost night. */
  readonly frost?: boolean;
  /** The topic that alarms are sent to, such as `https://ntfy.sh/my-topic`. */
  readonly ntfy?: string;
};

/** A day or night in which something happens. */
interface Story {
  readonly begins: number;
  readonly speed: number;
  readonly configured: (text: string, speed: number) => string;
  readonly tell: (stage: Stage, end: AbortSignal) => Promise<void>;
}

const stormDay: Story = { begins: stormBegins, speed: stormSpeed, configured: withLimits, tell: tellStorm };
const frostNight: Story = { begins: frostBegins, speed: frostSpeed, configured: withFrost, tell: tellFrost };

/** `greenhouse2mqtt demo`: runs simulated platform, embedded broker and bridge in one process, until a signal. */
export async function demo(context: ProcessContext, options: CommonOptions & DemoOptions): Promise<void> {
  const { controllers, seed, language, host, storm, frost, ntfy } = options;
  const story = storm ? stormDay : frost ? frostNight : null;
  refuseHostName(host);
  await context.speech.choose(language);
  const speed = options.speed ?? story?.speed ?? 1;
  const account = { controllers, seed, speed, language, ...(story && { startAt: story.begins }) };
  const simulator = await startSimulator(account, systemClock);
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "greenhouse2mqtt-demo-")));
  try {
    const ports = { port: await freePort(1883), httpPort: await freePort(8099, host) };
    const written = demoText(simulator.configuration(), {
      ...ports,
      host,
      language,
      ntfy,
      tell: context.speech.tell,
    });
    const configuration = overridden(
      await demoConfiguration(story?.configured(written, speed) ?? withGuardAndAlarm(written)),
      // A terminal shows events as such, and only what goes wrong as a line of the log.
      { ...options, dataDir, logLevel: options.logLevel ?? (context.isTerminal ? "warn" : undefined) },
    );
    await runShown(configuration, simulator, story, context);
  } finally {
    await simulator.close();
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
  }
}

/** The simulated greenhouse's time, for the page. */
function timeOf({ state: { timeline } }: Simulator, { platform }: Configuration) {
  const shape = { hour: "2-digit", minute: "2-digit", timeZone: platform.time_zone } as const;
  const format = new Intl.DateTimeFormat("sv-SE", shape);
  const now = () => systemClock.now();
  return {
    now: () => ({
      speed: timeline.speed,
      time: format.format(timeline.simulatedAt(now())),
      time_zone: platform.time_zone,
    }),
    timeAt: (realMs: number) => timeline.simulatedAt(realMs),
    setSpeed: (speed: number) => timeline.setSpeed(now(), speed),
  };
}

/** Runs the bridge and shows what happens at its broker. */
async function runShown(
  configuration: Configuration,
  simulator: Simulator,
  story: Story | null,
  context: ProcessContext,
): Promise<void> {
  const recentLog = new RecentLog(undefined, commandSentences);
  const log = loggerFor(configuration, context, undefined, recentLog);
  const logs = adjustableLogs(log, () => configuration.log.level);
  const over = new AbortController();
  const end = anyOf(endOfUse(context), over.signal);
  let watching = Promise.resolve();
  const pageAddress = await features.http.pageAddress();
  // Not earlier: a reader who copies the address must find the broker there.
  const onListening = () => {
    const { broker, http, mqtt } = configuration;
    const ports = { broker: broker.port, page: http === false ? 0 : http.port };
    const { host = "", users: [user] = [] } = http === false ? {} : http;
    const shown = {
      host,
      password: user?.password ?? "",
      env: context.env,
      tell: context.speech.tell,
      pageAddress,
    };
    context.out(greeting(ports, simulator.businessUrl, mqtt.base_topic, shown));
    watching = drawQr(configuration, context)
      .then(() => watchDemo(configuration, simulator, story, demoView(context), end))
      .catch((error: unknown) => log.warn(`what happens cannot be shown here: ${String(error)}`));
  };
  const page = { doctor: doctorFor(() => configuration), demo: timeOf(simulator, configuration) };
  const parts = { configuration, clock: systemClock, random: systemRandom, ...logs, recentLog, page };
  try {
    await runBridge({ ...parts, version: programVersion(), onListening }, end);
  } finally {
    over.abort();
    await watching;
  }
}

/** Shows the page's address as a QR code, if a phone can reach it and this is a terminal. */
async function drawQr({ http }: Configuration, { out, isTerminal }: ProcessContext): Promise<void> {
  if (!isTerminal || http === false) return;
  const { qrOf } = await features.http.pageAddress();
  const picture = await qrOf(http, http.port);
  if (picture !== null) out(`${picture}\n`);
}

interface DemoPlace extends Pick<DemoOptions, "host" | "language" | "ntfy"> {
  readonly port: number;
  readonly httpPort: number;
  readonly tell: Tell;
}

/** The simulator's own lines, with polling fast enough to watch values move. */
function demoText(lines: string, ports: DemoPlace): string {
  return [
    lines.replace("platform:\n", "platform:\n  requests_per_minute: 0\n"),
    `broker: { port: ${ports.port} }`,
    `http: { host: "${ports.host}", port: ${ports.httpPort}, users: [{ username: ${demoUser}, password: "${demoPassword(ports.host)}", role: operator }] }`,
    `homeassistant: { language: ${ports.language} }`,
    ...(ports.ntfy === undefined ? [] : [phoneLine(ports.ntfy, ports.language)]),
    ...togetherLines(ports.tell),
    "polling: { controllers: 30s, sensors: 5s, running_status: 10s, actuators: 5s }",
    "weather:",
    "  wind: { topic: weather/wind, field: speed, unit: m/s, stale_after: 1m }",
    "  rain: { topic: weather/rain, stale_after: 1m }",
    "  temperature: { topic: weather/temperature, unit: °C, stale_after: 1m }",
    "  irradiance: { topic: weather/irradiance, unit: W/m², stale_after: 1m }",
    "",
  ].join("\n");
}

/** Sends messages to a phone that has subscribed to this topic. */
function phoneLine(address: string, language: DemoOptions["language"]): string {
  const end = address.lastIndexOf("/");
  const [url, topic] = [address.slice(0, end), address.slice(end + 1)];
  return `notify: ${JSON.stringify({ language, ways: { phone: { ntfy: { url, topic } } } })}`;
}

/** A group and a scene in the first greenhouse. */
function togetherLines(tell: Tell): readonly string[] {
  const [skylights, night] = [tell(msg`All skylights`), tell(msg`Night`)];
  return [
    `groups: { skylights: { name: ${skylights}, members: [GH-0001/left_skylight, GH-0001/right_skylight] } }`,
    `scenes: { night: { name: ${night}, commands: { group/skylights: close, GH-0001/thermal_curtain: close, GH-0001/grow_light: off } } }`,
  ];
}

/** In the first greenhouse: a window that a wind closes, and a bed that is a little too dry until somebody waters it. */
const withGuardAndAlarm = (text: string): string =>
  text
    .replace(
      "  GH-0001:\n",
      "  GH-0001:\n    sensors: { soilhumi: { from: soilhumi, alarm: { low: 26, delay: 0s } } }\n",
    )
    .replace(
      "right_skylight: {",
      "right_skylight: { limits: { guards: { wind: { sensor: weather/wind, above: 12, clear_at: 9, clear_after: 1m, allow: [close, 0..10], then: close } } },",
    );

async function demoConfiguration(text: string): Promise<Configuration> {
  const result = await loadConfiguration("demo", { readFile: withTexts({ demo: text }), env: {} });
  if (!result.ok) throw new CommandFailure(joined(result.problems.map(problemText), "\n"));
  return result.configuration;
}

/** The wanted port, or any other if it is taken. */
function freePort(wanted: number, host = "127.0.0.1"): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error) => {
      if (wanted !== 0) resolve(freePort(0, host));
      else reject(usageFailure(msg`${host} is no address of this computer: ${error.message}`));
    });
    probe.listen(wanted, host, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

export const simulatedTraits = { profiles: profileNames, readings: readingNames };

interface SimulateOptions extends Pick<SimulatorOptions, "profile" | "speed" | "readings"> {
  readonly port: number;
  readonly controllers: number;
  readonly seed: number;
  readonly language: "en" | "zh";
  readonly token?: string;
  readonly faults?: string;
}

/** `greenhouse2mqtt simulate`: runs the platform alone until a signal; prints the configuration lines to paste. */
export async function simulate(
  context: ProcessContext,
  options: CommonOptions & SimulateOptions,
): Promise<void> {
  const log = createLogger(
    { level: options.logLevel ?? "info", format: "auto", secrets: () => [] },
    screenOf(context),
  );
  const { port, controllers, seed, speed, language, profile, readings, token, faults } = options;
  const auth = token === undefined ? {} : ({ tokens: "known", accepted: [token] } as const);
  const faultFile = faults === undefined ? undefined : await parsedFile(faults);
  const simulator = await startSimulator(
    { port, controllers, seed, speed, language, profile, readings, auth, faultFile },
    systemClock,
    log,
  ).catch((error: unknown) => {
    if (error instanceof FaultFileError)
      throw usageFailure(error.message.replaceAll(/^/gm, `${faults ?? ""}: `));
    throw new CommandFailure(
      msg`port ${port} cannot be opened (${textOf(error)}); choose another with --port`,
    );
  });
  context.out(simulator.configuration());
  await untilAborted(endOfUse(context));
  await simulator.close();
}

async function parsedFile(file: string): Promise<unknown> {
  const text = await readText(file).catch(nullIfFailed);
  if (text === null) throw usageFailure(msg`${file}: cannot be read; check the path`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usageFailure(msg`${file}: is not JSON: ${String(error)}`);
  }
}
