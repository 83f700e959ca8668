import { randomUUID } from "node:crypto";
import type { CommandAudience, CommandRules } from "../commands/command-ports.js";
import { Commander } from "../commands/commander.js";
import type { GreenhouseStore } from "../bridge/store.js";
import { parseDuration } from "../config/duration.js";
import { nearest } from "../config/nearest.js";
import type { Configuration } from "../config/schema.js";
import type { Journal } from "../journal/journal.js";
import type { PlatformClient } from "../platform/client.js";
import type { BridgeSurroundings } from "./bridge-parts.js";
import { clockAgrees } from "./clock-trust.js";
import type { LiveSettings } from "./live-settings.js";

export function createCommander(
  { configuration, live, clock, log, commandLog }: BridgeSurroundings,
  {
    otherBridge = () => false,
    ...parts
  }: {
    readonly platform: PlatformClient;
    readonly store: GreenhouseStore;
    readonly journal: Journal;
    readonly otherBridge?: () => boolean;
  },
  audience: CommandAudience,
): Commander {
  const rules = rulesInForce(configuration, live);
  return new Commander(
    { rules, text: { durationMs: parseDuration, nearest } },
    {
      ...parts,
      audience,
      clock,
      log,
      commandLog,
      newId: randomUUID,
      clockTrusted: () => clockAgrees(parts.platform.clockSkewMs()) === true,
      otherBridge,
    },
  );
}

/** Looked up for every command, so that a reloaded configuration counts at once. */
function rulesInForce(configuration: Configuration, live: LiveSettings | undefined): CommandRules {
  const { raw_addresses: rawAddresses, min_interval: minIntervalMs } = configuration.commands;
  const inForce = () => (live?.current ?? configuration).commands;
  return {
    ...{ rawAddresses, minIntervalMs },
    get readOnly() {
      return inForce().read_only;
    },
    get dryRun() {
      return inForce().dry_run;
    },
    get maxAgeMs() {
      return inForce().max_age;
    },
    get requireAge() {
      return inForce().require_age;
    },
    get requireBy() {
      return inForce().require_by;
    },
  };
}
