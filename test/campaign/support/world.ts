import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { atExit } from "../../support/at-exit.js";
import { freePort } from "../../support/mosquitto.js";
import type { SimulatedPlatform } from "../../end-to-end/support/platform.js";
import { canaries, type Configuration, createStage, type Stage } from "../../end-to-end/support/stage.js";
import type { Gap, Stretch } from "../history.js";
import { type BadHost, startBadHost } from "./bad-host.js";
import { type BridgeProcess, bridgeProcess } from "./bridge-process.js";
import { startTestBroker, type TestBroker } from "./brokers.js";
import { type Door, openDoor } from "./door.js";
import { houses } from "./house.js";
import { type Load, startLoad } from "./load.js";
import { type Recorder, startRecorder } from "./recorder.js";

/** Broker and protocol of one lane; each lane is a whole installation with a platform of its own. */
export interface Lane {
  readonly name: string;
  readonly broker: "Mosquitto" | "aedes" | "embedded";
  readonly version: 4 | 5;
  /** How the bridge gets its token. */
  readonly credential: "token" | "sign_in";
}

export interface World {
  readonly lane: Lane;
  readonly stage: Stage;
  readonly configuration: Configuration;
  readonly platform: SimulatedPlatform;
  /** Doors to the two hosts of the platform. */
  readonly business: Door;
  readonly realtime: Door;
  readonly badHost: BadHost;
  /** Null where the broker is part of the bridge. */
  readonly broker: TestBroker | null;
  readonly brokerDoor: Door | null;
  readonly brokerPort: number;
  readonly recorder: Recorder;
  readonly bridge: BridgeProcess;
  readonly load: Load;
  readonly httpPort: number;
  readonly platformPort: number;
  /** The data directory is a small file system of its own. */
  readonly hasOwnDisk: boolean;
  readonly gaps: Gap[];
  readonly clockOffsets: number[];
  readonly unwritable: Stretch[];
  clear(): Promise<void>;
}

export async function createWorld(lane: Lane): Promise<World> {
  const stage = await createStage();
  const platform = await stage.platform({ controllers: 3 });
  const platformPort = Number(new URL(platform.url).port);
  const [business, realtime] = [await openDoor(platformPort), await openDoor(platformPort)];
  const badHost = await startBadHost();
  const broker = lane.broker === "embedded" ? null : await startTestBroker(lane.broker);
  const brokerDoor = broker && (await openDoor(broker.port));
  const brokerPort = broker?.port ?? (await freePort());
  const httpPort = await freePort();
  const configuration = configurationOf(lane, { business, realtime, brokerDoor, brokerPort, httpPort });
  const hasOwnDisk = mountSmallDisk(join(stage.folder, "data"));
  const bridge = bridgeProcess(stage, configuration);
  await bridge.start();
  // A campaign that died must leave no bridge and no mount behind.
  const isCleared = atExit(() => {
    for (const { pid, hasEnded } of [bridge.program, platform.program])
      if (!hasEnded) process.kill(pid, "SIGKILL");
    if (hasOwnDisk) unmount(stage.folder);
  });
  const recorder = startRecorder(`mqtt://127.0.0.1:${brokerPort}`, lane.version);
  const load = startLoad(recorder, platform, lane.name);
  return {
    ...{ lane, stage, configuration, platform, business, realtime, badHost, broker, brokerDoor, brokerPort },
    ...{
      recorder,
      bridge,
      load,
      httpPort,
      platformPort,
      hasOwnDisk,
      gaps: [],
      clockOffsets: [0],
      unwritable: [],
    },
    clear: async () => {
      await load.stop().catch(() => undefined);
      await recorder.end();
      for (const one of [business, realtime, badHost, ...(brokerDoor ? [brokerDoor] : [])]) await one.close();
      if (!bridge.program.hasEnded) await bridge.kill();
      await broker?.stop();
      isCleared();
      if (hasOwnDisk) unmount(stage.folder);
      await stage.clear();
    },
  };
}

interface Ways {
  readonly business: Door;
  readonly realtime: Door;
  readonly brokerDoor: Door | null;
  readonly brokerPort: number;
  readonly httpPort: number;
}

function configurationOf(lane: Lane, ways: Ways): Configuration {
  const { business, realtime, brokerDoor, brokerPort, httpPort } = ways;
  const signIn = { sign_in: { body: { account: "grower", password: canaries.password } } };
  return {
    platform: {
      business_url: `http://127.0.0.1:${business.port}`,
      realtime_url: `http://127.0.0.1:${realtime.port}`,
      ...(lane.credential === "token" ? { token: canaries.token } : signIn),
      requests_per_minute: 3_000,
    },
    ...(brokerDoor === null
      ? { broker: { port: brokerPort } }
      : {
          mqtt: {
            url: `mqtt://127.0.0.1:${brokerDoor.port}`,
            protocol_version: lane.version,
            username: "bridge",
            password: canaries.password,
          },
        }),
    http: { port: httpPort },
    data_dir: "./data",
    ...houses,
  };
}

/** Room for the journal of a campaign; false where this process may not mount. */
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
