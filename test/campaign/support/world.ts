import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Ended, modulesFolder, type Program } from "../../end-to-end/support/program.js";
import {
  canaries,
  type Configuration,
  createStage,
  mosquittoSection,
  type Stage,
} from "../../end-to-end/support/stage.js";
import type { Stretch } from "../../end-to-end/support/watch.js";
import { atExit } from "../../support/at-exit.js";
import { freePort, ownProcess, type OwnProcess, startMosquitto } from "../../support/mosquitto.js";
import { startTcpProxy } from "../../support/tcp-proxy.js";
import type { Asked, Gap } from "../history.js";
import { houses } from "./house.js";
import { startLoad } from "./load.js";

/** Broker and protocol of one lane; each lane is a whole installation with a platform of its own. */
export interface Lane {
  readonly name: string;
  readonly broker: "Mosquitto" | "aedes" | "embedded";
  readonly version: 4 | 5;
  /** How the bridge gets its token. */
  readonly credential: "token" | "sign_in";
}

export type World = Awaited<ReturnType<typeof createWorld>>;

/** Random choices follow from the seed. */
export async function createWorld(lane: Lane, seed: number) {
  const stage = await createStage();
  const platform = await stage.platform({ controllers: 3 });
  const platformPort = Number(new URL(platform.url).port);
  /** Requests to the realtime host. */
  const requests: Asked[] = [];
  /** Proxies to the two hosts of the platform. */
  const business = stage.keep(await startTcpProxy(platformPort));
  const realtime = stage.keep(await startTcpProxy(platformPort, noting(requests)));
  /** Null if the broker is part of the bridge. */
  const broker = lane.broker === "embedded" ? null : await startTestBroker(lane.broker);
  const brokerDoor = broker && stage.keep(await startTcpProxy(broker.port));
  const brokerPort = broker?.port ?? (await freePort());
  const httpPort = await freePort();
  const ports = { business: business.port, realtime: realtime.port, broker: brokerPort, http: httpPort };
  const configuration = configurationOf(lane, { ...ports, brokerDoor: brokerDoor?.port ?? null });
  /** Whether the data directory is a small file system of its own. */
  const hasOwnDisk = mountSmallDisk(join(stage.folder, "data"));
  const bridge = new BridgeProcess(stage, configuration);
  await bridge.start();
  // A campaign that crashes must not leave a mount behind.
  const isCleared = atExit(() => {
    if (hasOwnDisk) unmount(stage.folder);
  });
  // Bypasses the proxy, as it sees every message and sends the load.
  const url = `mqtt://127.0.0.1:${brokerPort}`;
  const watch = await stage.watch({ url, protocolVersion: lane.version });
  const load = startLoad(watch, platform, lane.name);
  const [gaps, clockOffsets, unwritable]: [Gap[], number[], Stretch[]] = [[], [0], []];
  return {
    ...{ lane, seed, stage, configuration, platform, business, realtime, requests },
    ...{ broker, brokerDoor, brokerPort, httpPort, hasOwnDisk, bridge, watch, load },
    ...{ gaps, clockOffsets, unwritable },
    clear: async () => {
      await load.stop().catch(() => undefined);
      if (!bridge.program.hasEnded) await bridge.kill();
      await broker?.stop();
      isCleared();
      if (hasOwnDisk) unmount(stage.folder);
      await stage.clear();
    },
  };
}

/** Records the first line of each HTTP request, without its version and without upgrades to WebSocket. */
const noting = (requests: Asked[]) => (bytes: Buffer) => {
  const head = bytes.toString("latin1", 0, 2_000);
  const line = /^(?:GET|POST) (?:\S+)/.exec(head)?.[0];
  if (line !== undefined && !/upgrade: websocket/i.test(head)) requests.push({ at: Date.now(), line });
};

interface Ports extends Readonly<Record<"business" | "realtime" | "broker" | "http", number>> {
  readonly brokerDoor: number | null;
}

const configurationOf = ({ credential, version }: Lane, ports: Ports): Configuration => ({
  platform: {
    business_url: `http://127.0.0.1:${ports.business}`,
    realtime_url: `http://127.0.0.1:${ports.realtime}`,
    ...(credential === "token"
      ? { token: canaries.token }
      : { sign_in: { body: { account: "grower", password: canaries.password } } }),
    requests_per_minute: 3_000,
  },
  ...(ports.brokerDoor === null
    ? { broker: { port: ports.broker } }
    : mosquittoSection(`mqtt://127.0.0.1:${ports.brokerDoor}`, version)),
  http: { port: ports.http },
  data_dir: "./data",
  ...houses,
});

/** Mounts room for the journal of a campaign; false if this process may not mount. */
function mountSmallDisk(folder: string): boolean {
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=32m", "tmpfs", folder], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

const unmount = (folder: string) => execFileSync("umount", ["-l", join(folder, "data")]);

/** A broker in a process of its own that can die, freeze and return on the same port with nothing retained. */
export type TestBroker = OwnProcess & { readonly port: number; stop(): Promise<void> };

const script = resolve(import.meta.dirname, "aedes-broker.mjs");

async function startTestBroker(kind: "Mosquitto" | "aedes"): Promise<TestBroker> {
  // By default it drops messages of a burst that a subscriber has not taken; the watch must see every message.
  if (kind === "Mosquitto") return startMosquitto({ extra: ["max_queued_messages 0"] });
  const port = await freePort();
  const aedes = await ownProcess(process.execPath, [script, modulesFolder, String(port)]);
  return { ...aedes, port, stop: () => aedes.kill() };
}

const preload = pathToFileURL(resolve(import.meta.dirname, "moving-clock.mjs")).href;

/** The bridge under test over all its restarts, with one configuration file and data directory. */
class BridgeProcess {
  readonly lives: Program[] = [];
  /** Unexpected exits, as sentences. */
  readonly surprises: string[] = [];
  readonly #stage: Stage;
  readonly #configuration: Configuration;
  readonly #clockFile: string;
  #isEnding = false;

  constructor(stage: Stage, configuration: Configuration) {
    this.#stage = stage;
    this.#configuration = configuration;
    this.#clockFile = join(stage.folder, "clock-offset");
  }

  get program(): Program {
    const program = this.lives.at(-1);
    if (program === undefined) throw new Error("the bridge was never started");
    return program;
  }

  async start(configuration = this.#configuration): Promise<void> {
    const env = { NODE_OPTIONS: `--import ${preload}`, CAMPAIGN_CLOCK: this.#clockFile };
    const program = await this.#stage.bridge(configuration, { logLevel: "info", env });
    this.#isEnding = false;
    this.lives.push(program);
    void program.ended.then(({ code, stderr }) => {
      if (!this.#isEnding)
        this.surprises.push(`it ended by itself with ${code ?? "a signal"}: ${stderr.slice(-800)}`);
    });
  }

  kill = (): Promise<Ended> => this.#end("SIGKILL");
  stop = (): Promise<Ended> => this.#end("SIGTERM");

  /** Shifts the wall clock of this and later processes. */
  setClock(offMs: number): void {
    writeFileSync(this.#clockFile, String(offMs));
    if (!this.program.hasEnded) this.program.signal("SIGUSR2");
  }

  async #end(signal: NodeJS.Signals): Promise<Ended> {
    this.#isEnding = true;
    this.program.signal(signal);
    return this.program.ended;
  }
}
