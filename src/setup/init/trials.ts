import type { Configuration } from "../../config/schema.js";
import { platformSettings } from "../../compose/platform-settings.js";
import { PlatformError } from "../../greenhouse/platform-error.js";
import { createPlatform } from "../../platform/client.js";
import { nodeFiles } from "../../platform/files.js";
import type { Clock } from "../../runtime/clock.js";
import type { Random } from "../../runtime/random.js";
import { BrokerProbe, openProbe } from "../doctor/broker-probe.js";
import { probeSettings } from "../doctor/broker-access.js";
import { silentLog } from "../doctor/silent-log.js";
import { within } from "../doctor/within.js";

export interface Trial {
  readonly ok: boolean;
  /** A sentence for each thing that was tried. */
  readonly lines: readonly string[];
}

const trialMs = 30_000;

/** Asks both hosts one question each, with the credential of the configuration. */
export async function tryPlatform(
  configuration: Configuration,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  stop: AbortSignal,
): Promise<Trial> {
  const platform = createPlatform(platformSettings(configuration), {
    clock,
    random,
    log: silentLog,
    dataDir: configuration.data_dir,
    onLink: () => undefined,
    // A token that was got for the trial is not kept: nothing is written before everything is known.
    files: { ...nodeFiles, writePrivate: () => Promise.resolve() },
  });
  try {
    return await within(clock, trialMs, stop, async (signal) => {
      const listed = await told(platform.controllers(signal), (controllers) => {
        const { length } = controllers;
        return `the business host lists ${length} ${length === 1 ? "controller" : "controllers"}`;
      });
      const asked = await told(platform.connection("init", signal), () => "the realtime host answers");
      return { ok: listed.ok && asked.ok, lines: [listed.line, asked.line] };
    });
  } finally {
    await platform.close();
  }
}

async function told<T>(call: Promise<T>, sentence: (value: T) => string) {
  try {
    return { ok: true, line: sentence(await call) };
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return { ok: false, line: error.message };
  }
}

/** Connects to the configured broker once; the embedded one is never tried, it starts with the bridge. */
export async function tryBroker(configuration: Configuration, clock: Clock): Promise<Trial> {
  const settings = probeSettings({ configuration }, null);
  const probe = await openProbe(settings, clock, 5_000);
  if (!(probe instanceof BrokerProbe)) return { ok: false, lines: [probe.reason] };
  await probe.close();
  return { ok: true, lines: ["the broker lets us in"] };
}
