import { platformSettings } from "../../compose/platform-settings.js";
import type { Configuration } from "../../config/schema.js";
import { createPlatform } from "../../platform/client.js";
import { answerBook } from "./answers.js";
import { brokerChecks } from "./broker-checks.js";
import { neighbourChecks } from "./broker-neighbour-checks.js";
import { clockCheck } from "./clock-check.js";
import { dataChecks } from "./data-checks.js";
import { examine } from "./examination.js";
import type { Finding } from "./finding.js";
import { networkChecks } from "./network-checks.js";
import { platformChecks } from "./platform-checks.js";
import { pushChecks } from "./push-checks.js";
import type { Check, DoctorLimits, DoctorPorts, Scene } from "./scene.js";
import { shapeChecks } from "./shape-checks.js";
import { zoneCheck } from "./zone-check.js";

/** In the order in which they are carried out and printed. */
export const checks: readonly Check[] = [
  ...networkChecks("business"),
  ...networkChecks("realtime"),
  ...platformChecks,
  clockCheck,
  ...shapeChecks,
  zoneCheck,
  ...pushChecks,
  ...brokerChecks,
  ...neighbourChecks,
  ...dataChecks,
];

export interface Errand {
  readonly configuration: Configuration;
  readonly ports: DoctorPorts;
  readonly limits: DoctorLimits;
  readonly stop: AbortSignal;
  /** Told the name of each check when it begins. */
  readonly begun: (check: string) => void;
  /** Further checks at the end, such as recording. */
  readonly more?: readonly Check[];
}

/** Yields a finding for each check. Only reads the platform; nothing is ever sent to an actuator. */
export async function* diagnose(errand: Errand, use: (scene: Scene) => void): AsyncGenerator<Finding> {
  const { configuration, ports, limits, stop, begun, more = [] } = errand;
  const platform = createPlatform(platformSettings(configuration), {
    clock: ports.clock,
    random: ports.random,
    log: ports.log,
    dataDir: configuration.data_dir,
    onLink: () => undefined,
  });
  const endings: (() => Promise<void>)[] = [() => platform.close()];
  const scene: Scene = {
    configuration,
    ports,
    limits,
    platform,
    answers: answerBook(platform, ports.clock),
    evidence: {
      controllers: [],
      devices: [],
      swapped: null,
      channels: null,
      broker: null,
      isGuest: false,
      bridgeOnline: null,
      endings,
    },
  };
  use(scene);
  try {
    yield* examine([...checks, ...more], scene, stop, begun);
  } finally {
    for (const end of endings.reverse()) await end().catch(() => undefined);
  }
}
