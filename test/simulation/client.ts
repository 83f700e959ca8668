import { createPlatform, type PlatformClient } from "../../src/platform/client.js";
import type { Files } from "../../src/runtime/file-system.js";
import type { OnLink } from "../../src/platform/circuit.js";
import type { PlatformSettings } from "../../src/platform/settings.js";
import { silentLog } from "../support/builders.js";
import type { Chance } from "./chance.js";
import type { BootClock } from "./time.js";

/** The small files of the data directory; they outlive the program. */
export function filesInMemory(): Files {
  const held = new Map<string, string>();
  return {
    read: (path) => Promise.resolve(held.get(path) ?? null),
    version: (path) => Promise.resolve(held.has(path) ? path : null),
    writePrivate: (path, text) => {
      held.set(path, text);
      return Promise.resolve();
    },
  };
}

export interface ClientParts {
  readonly settings: PlatformSettings;
  readonly clock: BootClock;
  readonly chance: Chance;
  readonly files: Files;
  readonly onLink: OnLink;
}

/** The product's platform client. Its connections are doubles that lead into the simulated world of the clock. */
export const simulatedClient = ({ settings, clock, chance, files, onLink }: ClientParts): PlatformClient =>
  createPlatform(settings, { clock, random: chance.random, log: silentLog, dataDir: "/data", onLink, files });
