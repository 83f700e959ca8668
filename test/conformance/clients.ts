import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import mqtt, { type IClientOptions } from "mqtt";
import { endsWithThisProcess } from "../support/at-exit.js";
import { login } from "./bench.js";
import type { Version } from "./packets.js";

/* Clients that people use, each behind the same few verbs. */

export interface Arrival {
  readonly port: number;
  readonly version: Version;
  readonly id: string;
  readonly username?: string;
}

interface Publication {
  readonly topic: string;
  readonly payload: string;
  readonly qos: 0 | 1 | 2;
  readonly retain?: boolean;
}

interface Interest {
  readonly topic: string;
  /** With a session that lasts. */
  readonly lasting?: boolean;
  readonly will?: Publication;
}

interface Subscriber {
  /** `QoS retain payload` of each message. */
  readonly lines: readonly string[];
  /** Says goodbye. */
  leave(): Promise<void>;
  /** Is gone without a word. */
  vanish(): Promise<void>;
}

export interface ClientKind {
  readonly name: string;
  /** Rejects when it is not let in. */
  publish(arrival: Arrival, publication: Publication): Promise<void>;
  /** Resolves when the subscription, of QoS 2, is granted. */
  subscribe(arrival: Arrival, interest: Interest): Promise<Subscriber>;
}

const run = promisify(execFile);
const subscribed = "Subscribed (";

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = once(child, "exit");
  child.kill(signal);
  await over;
}

/** A program that says when it is subscribed, and from then on each message in a line. */
async function subscriberProgram(
  command: string,
  args: readonly string[],
  env = process.env,
): Promise<Subscriber> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], env });
  endsWithThisProcess(child);
  const lines: string[] = [];
  const ready = new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`${command} ended with ${code ?? "a signal"}`)));
    let rest = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const whole = `${rest}${text}`.split("\n");
      rest = whole.pop() ?? "";
      for (const line of whole)
        if (line.startsWith(subscribed)) resolve();
        else if (/^[012] [01] /.test(line)) lines.push(line);
    });
  });
  await ready;
  return { lines, leave: () => ended(child, "SIGTERM"), vanish: () => ended(child, "SIGKILL") };
}

const mosquittoArrival = ({ port, version, id, username = login.username }: Arrival): string[] => [
  ...["-h", "127.0.0.1", "-p", String(port), "-V", version === 5 ? "5" : "311", "-i", id],
  ...["-u", username, "-P", login.password],
];

export const mosquittoClients: ClientKind = {
  name: "mosquitto_pub and mosquitto_sub",
  publish: async (arrival, { topic, payload, qos, retain }) => {
    const message = ["-t", topic, "-q", String(qos), "-m", payload, ...(retain ? ["-r"] : [])];
    await run("mosquitto_pub", [...mosquittoArrival(arrival), ...message]);
  },
  subscribe: (arrival, { topic, lasting, will }) =>
    subscriberProgram("stdbuf", [
      ...[
        "-oL",
        "mosquitto_sub",
        "-d",
        "-F",
        "%q %r %p",
        ...mosquittoArrival(arrival),
        "-t",
        topic,
        "-q",
        "2",
      ],
      ...(lasting ? ["-c"] : []),
      ...(lasting && arrival.version === 5 ? ["-x", "60"] : []),
      ...(will
        ? ["--will-topic", will.topic, "--will-payload", will.payload, "--will-qos", String(will.qos)]
        : []),
    ]),
};

const connected = ({ port, version, id, username = login.username }: Arrival, more: IClientOptions) =>
  mqtt.connectAsync(
    `mqtt://127.0.0.1:${port}`,
    {
      ...{ protocolVersion: version, clientId: id, username, password: login.password },
      ...{ reconnectPeriod: 0, ...more },
    },
    false,
  );

export const mqttJs: ClientKind = {
  name: "mqtt.js",
  publish: async (arrival, { topic, payload, ...options }) => {
    const client = await connected(arrival, {});
    await client.publishAsync(topic, payload, options);
    await client.endAsync();
  },
  subscribe: async (arrival, { topic, lasting = false, will }) => {
    const expiry = lasting && arrival.version === 5 ? { properties: { sessionExpiryInterval: 60 } } : {};
    const lines: string[] = [];
    const client = mqtt.connect(`mqtt://127.0.0.1:${arrival.port}`, {
      ...{ protocolVersion: arrival.version, clientId: arrival.id, ...login, reconnectPeriod: 0 },
      ...{
        clean: !lasting,
        ...expiry,
        ...(will && { will: { ...will, payload: Buffer.from(will.payload) } }),
      },
    });
    // What a session kept comes at once.
    client.on("message", (_topic, payload, { qos, retain }) => {
      lines.push(`${qos} ${retain ? 1 : 0} ${payload.toString()}`);
    });
    client.on("error", () => undefined);
    await client.subscribeAsync(topic, { qos: 2 });
    const vanish = async () => {
      const closed = once(client.stream, "close");
      client.stream.destroy();
      await closed;
    };
    return { lines, leave: () => client.endAsync(), vanish };
  },
};
