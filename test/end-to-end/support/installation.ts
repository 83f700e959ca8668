import { freePort, type MosquittoOptions } from "../../support/mosquitto.js";
import type { BrokerUnderTest } from "./brokers.js";
import { type Program, whileRuns } from "./program.js";
import { type Configuration, mosquittoSection, type Stage } from "./stage.js";
import { untilNew, type Watch } from "./watch.js";

/** A bridge at one of the brokers it is meant for, over its many lives on the same files. */
export async function installation(
  stage: Stage,
  { embedded, version }: BrokerUnderTest,
  options?: MosquittoOptions,
) {
  const mosquitto = embedded ? null : await stage.mosquitto(options);
  const port = mosquitto?.port ?? (await freePort());
  const url = `mqtt://127.0.0.1:${port}`;
  const look = () => stage.watch({ url, protocolVersion: version });
  const now: { watch: Watch | null; bridge: Program | null } = { watch: null, bridge: null };
  return {
    ...{ mosquitto, port },
    /** The bridge's section for its broker. */
    section: embedded ? { broker: { port } } : mosquittoSection(url, version),
    get watch() {
      return given(now.watch);
    },
    get bridge() {
      return given(now.bridge);
    },
    /** Starts the bridge once the life before has ended; resolves when it is online. */
    start: async (configuration: Configuration): Promise<void> => {
      await now.bridge?.ended;
      if (!embedded) now.watch ??= await look();
      const mark = now.watch?.mark() ?? 0;
      now.bridge = await stage.bridge(configuration);
      now.watch ??= await whileRuns(now.bridge, look());
      await whileRuns(now.bridge, untilNew(now.watch, mark, "greenhouse/bridge/state", "online", 120_000));
    },
  };
}

export function given<Thing>(thing: Thing | null | undefined): Thing {
  if (thing === null || thing === undefined) throw new Error("not there (any more)");
  return thing;
}
