import { spawn, type ChildProcess } from "node:child_process";
import { pbkdf2Sync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endsWithThisProcess } from "./at-exit.js";

/*
 * A real Mosquitto from Debian's package, one process per test, on a free port of the loopback, with everything it writes
 * in a temporary folder.
 */

const program = ["/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto", "/opt/homebrew/sbin/mosquitto"].find(
  (path) => existsSync(path),
);

export interface MosquittoOptions {
  /** With users nobody else can log in. */
  readonly users?: Readonly<Record<string, string>>;
  /** Lines of an access list (`user ha`, `topic read greenhouse/#`). */
  readonly acl?: readonly string[];
  /** Keeps retained messages and sessions over `restart`. */
  readonly persistence?: boolean;
  readonly maxPacketSize?: number;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly webSocket?: boolean;
  /** Logs every packet, which slows it down. */
  readonly verbose?: boolean;
  readonly extra?: readonly string[];
}

export interface Mosquitto extends OwnProcess {
  readonly url: string;
  readonly port: number;
  readonly webSocketUrl: string | null;
  /** Kills it and removes all files. */
  stop(): Promise<void>;
}

export async function startMosquitto(options: MosquittoOptions = {}): Promise<Mosquitto> {
  if (program === undefined)
    throw new Error(
      "these tests need a real Mosquitto: apt-get install mosquitto (looked for /usr/sbin/mosquitto)",
    );
  const folder = await mkdtemp(join(tmpdir(), "mosquitto-"));
  const port = await freePort();
  const webSocketPort = options.webSocket ? await freePort() : null;
  const file = join(folder, "mosquitto.conf");
  await writeFile(file, await configuration(options, { folder, port, webSocketPort }));
  const running = await ownProcess(program, ["-c", file]);
  return {
    ...running,
    url: `${options.tls ? "mqtts" : "mqtt"}://127.0.0.1:${port}`,
    port,
    webSocketUrl: webSocketPort === null ? null : `ws://127.0.0.1:${webSocketPort}`,
    stop: async () => {
      await running.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A broker's process. */
export interface OwnProcess {
  /** Its output so far. */
  log(): string;
  /** SIGKILL: no will, no DISCONNECT, sockets closed by the kernel. Resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; Mosquitto then saves its data if persistence is on. */
  quit(): Promise<void>;
  /** Starts it again, after `quit` if it still runs. */
  restart(): Promise<void>;
  /** SIGSTOP: sockets stay open, nothing is answered. */
  freeze(): void;
  thaw(): void;
}

/** Resolves when its output matches `isRunning`. */
export async function ownProcess(
  path: string,
  args: readonly string[],
  isRunning = /\brunning/,
): Promise<OwnProcess> {
  let output = "";
  let child: ChildProcess | null = null;
  const start = async () => {
    const started = spawn(path, args, { stdio: ["ignore", "pipe", "pipe"] });
    child = started;
    endsWithThisProcess(started);
    await new Promise<void>((resolve, reject) => {
      let seen = "";
      const read = (chunk: Buffer) => {
        seen += chunk.toString();
        output += chunk.toString();
        if (isRunning.test(seen)) resolve();
      };
      started.stdout.on("data", read);
      started.stderr.on("data", read);
      started.once("error", reject);
      started.once("exit", (code) => reject(new Error(`${path} ended with code ${code}:\n${seen}`)));
    });
  };
  const end = async (name: NodeJS.Signals) => {
    const ending = child;
    child = null;
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return;
    const gone = once(ending, "exit");
    ending.kill(name);
    const stubborn = setTimeout(() => ending.kill("SIGKILL"), 3_000);
    await gone;
    clearTimeout(stubborn);
  };
  await start();
  return {
    log: () => output,
    kill: () => end("SIGKILL"),
    quit: () => end("SIGTERM"),
    restart: async () => {
      await end("SIGTERM");
      await start();
    },
    freeze: () => {
      child?.kill("SIGSTOP");
    },
    thaw: () => {
      child?.kill("SIGCONT");
    },
  };
}

async function configuration(
  options: MosquittoOptions,
  { folder, port, webSocketPort }: { folder: string; port: number; webSocketPort: number | null },
): Promise<string> {
  const lines = [
    // Started as root it would change to a user who cannot read the temporary folder.
    "user root",
    ...(options.verbose ? ["log_type all"] : ["log_type error", "log_type notice", "log_type information"]),
    ...(options.maxPacketSize === undefined ? [] : [`max_packet_size ${options.maxPacketSize}`]),
    `persistence ${options.persistence ? "true" : "false"}`,
    `persistence_location ${folder}/`,
    `allow_anonymous ${options.users ? "false" : "true"}`,
  ];
  if (options.users) lines.push(`password_file ${await passwordFile(folder, options.users)}`);
  if (options.acl) {
    const acl = join(folder, "acl");
    await writeFile(acl, `${options.acl.join("\n")}\n`, { mode: 0o600 });
    lines.push(`acl_file ${acl}`);
  }
  lines.push(`listener ${port} 127.0.0.1`, ...(await tlsLines(folder, options.tls)));
  if (webSocketPort !== null) lines.push(`listener ${webSocketPort} 127.0.0.1`, "protocol websockets");
  return [...lines, ...(options.extra ?? []), ""].join("\n");
}

async function tlsLines(folder: string, tls: MosquittoOptions["tls"]): Promise<string[]> {
  if (!tls) return [];
  const cert = join(folder, "server.crt");
  const key = join(folder, "server.key");
  await writeFile(cert, tls.cert);
  await writeFile(key, tls.key, { mode: 0o600 });
  return [`certfile ${cert}`, `keyfile ${key}`];
}

/** Mosquitto's own format: PBKDF2 with SHA-512, here with few rounds because the tests guard no secret. */
async function passwordFile(folder: string, users: Readonly<Record<string, string>>): Promise<string> {
  const rounds = 101;
  const lines = Object.entries(users).map(([name, password]) => {
    const salt = randomBytes(12);
    const hash = pbkdf2Sync(password, salt, rounds, 64, "sha512");
    return `${name}:$7$${rounds}$${salt.toString("base64")}$${hash.toString("base64")}`;
  });
  const path = join(folder, "passwords");
  await writeFile(path, `${lines.join("\n")}\n`, { mode: 0o600 });
  return path;
}

// Below the ports that the system assigns itself: anybody may take one of those before it is used, or while its
// listener restarts.
const firstPort = 12_000;
const portsOfProcess = 100;
let portsGiven = 0;

/** A port that is unused now, and that this process gives to no other caller for a while. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = firstPort + (process.pid % 200) * portsOfProcess + (portsGiven % portsOfProcess);
    portsGiven += 1;
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = net.createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
    server.close();
    await once(server, "close");
    return true;
  } catch {
    return false;
  }
}
