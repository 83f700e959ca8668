import { EventEmitter, once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { text } from "node:stream/consumers";
import type { MqttClient } from "mqtt";
import { runProgram } from "../../src/cli/program.js";
import { loggerFor, readConfiguration } from "../../src/terminal/common.js";
import { Speech } from "../../src/terminal/speech.js";
import type { ProcessContext } from "../../src/terminal/context.js";
import { runBridge } from "../../src/bridge.js";
import { guardProcess, takeLastError } from "../../src/status/crash-loop.js";
import { secretValues } from "../../src/config/load.js";
import type { ServiceName } from "../../src/notify/services.js";
import { systemClock, systemRandom } from "../../src/runtime/clock.js";
import { freePort } from "../support/mosquitto.js";
import { hostileBroker } from "./hostile-broker.js";
import { hostilePlatform } from "./hostile-platform.js";
import type { Scenario } from "./scenarios.js";
import { leaksIn, secrets, userHash } from "./secrets.js";

/* Plays one scenario in this process and looks everywhere for what was planted. */

export interface World {
  readonly brokerPort: number;
  /** Sees every message of every scenario. */
  readonly client: MqttClient;
}

export interface Found {
  readonly scenario: string;
  readonly where: string;
  readonly what: readonly string[];
}

const longestMs = 4_000;
/** Where the contract keeps what was signed in for. */
const tokenCache = "platform-session.json";
const inputs = new Set(["config.yaml", "secrets.yaml", "token.txt"]);

let count = 0;

/** Where secrets surfaced; `evidence` says that the scenario got as far as it was meant to. */
export async function play(
  scenario: Scenario,
  world: World,
): Promise<{ readonly found: readonly Found[]; readonly evidence: string }> {
  const folder = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-canary-"));
  const stop = new AbortController();
  const late = setTimeout(() => stop.abort(), longestMs);
  let output = "";
  const write = (line: string) => (output += line);
  const context: ProcessContext = {
    env: { GREENHOUSE_TOKEN: secrets.token, MQTT_PASSWORD: secrets.brokerPassword, USER: "grower" },
    out: write,
    err: { write },
    isTerminal: false,
    stop: stop.signal,
    speech: new Speech(),
  };
  const platform = await hostilePlatform(
    scenario.platform ?? "401 with a body",
    scenario.credential === "signed in",
  );
  const broker = scenario.broker === undefined ? null : await hostileBroker(scenario.broker);
  try {
    const base = `canary${(count += 1)}`;
    const httpPort = await freePort();
    const brokerPort = broker?.port ?? world.brokerPort;
    const at = { platformUrl: platform.url, brokerPort, base, httpPort, folder };
    await writeFile(join(folder, "token.txt"), `${secrets.token}\n`, { mode: 0o600 });
    const config = join(folder, "config.yaml");
    await writeFile(config, scenario.configuration ?? configurationFor(scenario, at), { mode: 0o600 });
    if (scenario.secretsFile !== undefined)
      await writeFile(join(folder, "secrets.yaml"), scenario.secretsFile);
    const page: string[] = [];
    if (scenario.command === "bridge") {
      const hasStream = scenario.hasStream === true;
      await bridge({ config, context, stop, base, httpPort, world, page, hasStream });
    } else if (scenario.command === "crash") await crash(scenario, config, context, folder);
    else
      await runProgram(
        ["node", "greenhouse2mqtt", ...inFolder(scenario.command, folder), "-c", config],
        context,
      );
    const found = [
      { where: "output", text: output },
      ...page.map((text) => ({ where: "HTTP", text })),
      ...(await filesOf(folder)),
    ].flatMap(({ where, text: seen }) => {
      const what = leaksIn(seen.replaceAll(folder, ""));
      return what.length > 0 ? [{ scenario: scenario.name, where: `${where}: ${around40(seen)}`, what }] : [];
    });
    return { found, evidence: `${output.length > 0} ${platform.requests.length} ${broker?.met() ?? 0}` };
  } finally {
    clearTimeout(late);
    stop.abort();
    await platform.close();
    await broker?.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The place, not the secret's rest. */
function around40(seen: string): string {
  const at = seen.search(/CaNaRy7/);
  return at < 0 ? "" : JSON.stringify(seen.slice(Math.max(0, at - 160), at + 30));
}

const inFolder = (words: readonly string[], folder: string) =>
  words.map((word) => (["found.yaml", "recorded", "bundle.json"].includes(word) ? join(folder, word) : word));

interface Place {
  readonly platformUrl: string;
  readonly brokerPort: number;
  readonly base: string;
  readonly httpPort: number;
  readonly folder: string;
}

function configurationFor({ credential, hasStream = false }: Scenario, at: Place): string {
  const signIn = { sign_in: { body: { account: "grower", password: secrets.accountPassword } } };
  const access = {
    token: { token: secrets.token },
    "token from env": { token: "!env" },
    "token file": { token_file: join(at.folder, "token.txt") },
    "sign-in": signIn,
    "signed in": signIn,
  }[credential];
  const configuration = {
    platform: {
      ...{ business_url: at.platformUrl, realtime_url: at.platformUrl, requests_per_minute: 0 },
      ...access,
      timeouts: { connect: "1s", read: "1s", control: "2s" },
      push: { credential: "query" },
    },
    mqtt: {
      ...{ url: `mqtt://127.0.0.1:${at.brokerPort}`, base_topic: at.base, client_id: at.base },
      ...{ username: "bridge", password: secrets.brokerPassword },
    },
    broker: {
      users: [
        { username: "ha", password: userHash },
        { username: "plain", password: secrets.userPassword },
      ],
    },
    homeassistant: { discovery_prefix: `${at.base}-ha`, status_topic: `${at.base}-ha/status` },
    http: { port: at.httpPort, token: secrets.httpToken },
    polling: { controllers: "1s", sensors: "1s", running_status: "1s", actuators: "1s", stale_after: "5s" },
    notify: { ways: waysTo(at.platformUrl) },
    data_dir: join(at.folder, "data"),
    log: { level: "trace", format: "json" },
    controllers: {
      "GH-0001": { id: "east", stream: hasStream, actuators: { roof: { kind: "skylight", address: "101" } } },
    },
  };
  return JSON.stringify(configuration, null, 1).replace('"!env"', "!env GREENHOUSE_TOKEN");
}

/** A way of each service, all to one host. */
function waysTo(url: string) {
  // Nobody is there: a mail server says nothing before the client of HTTP, and the client waits long for it.
  const mail = {
    host: "127.0.0.1",
    port: 9,
    encryption: "none",
    from: "a@example.com",
    to: ["b@example.com"],
  };
  const headers = { authorization: `Bearer ${secrets.webhookToken}` };
  return {
    ntfy: { ntfy: { url, topic: secrets.ntfyTopic, token: secrets.ntfyToken } },
    telegram: { telegram: { url, token: secrets.telegramToken, chat_id: "1" } },
    wecom: { wecom: { url, key: secrets.wecomKey } },
    dingtalk: { dingtalk: { url, access_token: secrets.dingtalkToken, secret: secrets.dingtalkSecret } },
    webhook: { webhook: { url: `${url}/hook/${secrets.webhookPath}`, headers } },
    smtp: { smtp: { ...mail, username: "house", password: secrets.mailPassword } },
  } satisfies { readonly [Name in ServiceName]: Readonly<Record<Name, object>> };
}

interface BridgeRun {
  readonly config: string;
  readonly context: ProcessContext;
  readonly stop: AbortController;
  readonly base: string;
  readonly httpPort: number;
  readonly world: World;
  readonly page: string[];
  /** Its address belongs into the controller's information, which is waited for. */
  readonly hasStream: boolean;
}

/** Runs it until a command had its result and every request its answer; where its broker refuses it, for a while. */
async function bridge(run: BridgeRun): Promise<void> {
  const { config, context, stop, base, httpPort, world, page, hasStream } = run;
  const configuration = await readConfiguration({ config, logLevel: "trace" }, context);
  const log = loggerFor(configuration, context);
  const parts = { configuration, clock: systemClock, random: systemRandom, log, version: "1" };
  const running = runBridge({ ...parts, setLogLevel: () => undefined }, stop.signal);
  const { client } = world;
  const heard = (topic: string) =>
    new Promise<void>((resolve) => {
      const listen = (seen: string, payload: Buffer) => {
        if (seen !== topic || payload.toString() === "offline") return;
        done();
      };
      const done = () => {
        client.off("message", listen);
        stop.signal.removeEventListener("abort", done);
        resolve();
      };
      client.on("message", listen);
      stop.signal.addEventListener("abort", done, { once: true });
      if (stop.signal.aborted) done();
    });
  const askAll = async () => {
    const shown = hasStream ? heard(`${base}/east/info`) : Promise.resolve();
    await heard(`${base}/bridge/state`);
    const read = { controller: "east", address: "101" };
    const requests = { health: {}, bundle: {}, journal: {}, read, get: { operation: "device" } };
    // Its answer may come later than all that is waited for, and is looked at all the same.
    client.publish(`${base}/bridge/request/notify_test`, "{}", { qos: 1 });
    const answered = Object.entries(requests).map(([name, request]) => {
      client.publish(`${base}/bridge/request/${name}`, JSON.stringify({ transaction: "t", ...request }), {
        qos: 1,
      });
      return heard(`${base}/bridge/response/${name}`);
    });
    client.publish(`${base}/east/actuator/roof/set`, "open", { qos: 1 });
    await Promise.all([...answered, shown, heard(`${base}/east/actuator/roof/result`)]);
    for (const path of ["/healthz", "/readyz", "/metrics", "/nothing"])
      for (const token of [secrets.httpToken, "wrong"]) page.push(await pageOf(httpPort, path, token));
    stop.abort();
  };
  await Promise.all([running, askAll()]);
}

async function pageOf(port: number, path: string, token: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const asking = get({ host: "127.0.0.1", port, path, agent: false, headers });
  try {
    const [response] = (await once(asking, "response")) as [Parameters<typeof text>[0] & { headers: object }];
    return `${JSON.stringify(response.headers)} ${await text(response)}`;
  } catch {
    return "";
  }
}

/** What nobody catches: into the log, into last-error.json, and from there into the next run's journal. */
async function crash(
  scenario: Scenario,
  config: string,
  context: ProcessContext,
  folder: string,
): Promise<void> {
  const configuration = await readConfiguration({ config }, context);
  // Its journal has made the folder by the time that anything runs.
  await mkdir(configuration.data_dir, { recursive: true });
  const log = loggerFor(configuration, context);
  const process = Object.assign(new EventEmitter(), { exit: () => undefined });
  guardProcess({
    process,
    dataDir: configuration.data_dir,
    now: () => systemClock.now(),
    secrets: () => secretValues(configuration),
    fatal: (facts, message) => log.fatal(facts, message),
  });
  const message = scenario.crash ?? "";
  const error = message.startsWith("in its cause")
    ? new Error("it failed", { cause: new Error(message) })
    : message.startsWith("as what")
      ? message
      : new Error(message);
  process.emit("uncaughtException", error);
  const [file = ""] = (await filesOf(folder)).flatMap((one) =>
    one.where.endsWith("last-error.json") ? [one.text] : [],
  );
  if (file === "") throw new Error("nothing was recorded");
  context.out(JSON.stringify(takeLastError(configuration.data_dir)));
}

/** The contract keeps the token in its cache; `discover` takes the broker's section over as it was given. */
function withoutKept(name: string, written: string): string {
  if (name === tokenCache) return written.replaceAll(secrets.signedInToken, "");
  return name === "found.yaml" ? written.replaceAll(userHash, "") : written;
}

interface Written {
  readonly where: string;
  readonly text: string;
}

/** Everything written, except what was put there and a token cache that only its owner may read. */
async function filesOf(folder: string): Promise<readonly Written[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files: Written[] = [];
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(folder, path);
    if (inputs.has(name)) continue;
    const status = await stat(path).catch(() => null);
    // Renamed since it was listed: it is looked for under its new name.
    if (status === null) return filesOf(folder);
    const written = await readFile(path, "utf8");
    const isPrivate = (status.mode & 0o077) === 0;
    files.push({ where: name, text: isPrivate ? withoutKept(entry.name, written) : written });
  }
  return files;
}
