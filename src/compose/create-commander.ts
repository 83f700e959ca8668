import { randomUUID } from "node:crypto";
import type { CommandAudience } from "../bridge/commands/command-ports.js";
import { Commander } from "../bridge/commands/commander.js";
import type { GreenhouseStore } from "../bridge/store.js";
import { parseDuration } from "../config/duration.js";
import { nearest } from "../config/nearest.js";
import type { Journal } from "../journal/journal.js";
import type { PlatformClient } from "../platform/client.js";
import type { BridgeSurroundings } from "./bridge-parts.js";

/** Our clock is trusted for judging `at` while it is this close to the platform's. */
const trustedSkewMs = 120_000;

export function createCommander(
  { configuration, clock, log }: BridgeSurroundings,
  parts: { readonly platform: PlatformClient; readonly store: GreenhouseStore; readonly journal: Journal },
  audience: CommandAudience,
): Commander {
  const {
    read_only: readOnly,
    dry_run: dryRun,
    max_age: maxAgeMs,
    require_age: requireAge,
  } = configuration.commands;
  return new Commander(
    { rules: { readOnly, dryRun, maxAgeMs, requireAge }, text: { durationMs: parseDuration, nearest } },
    {
      ...parts,
      audience,
      clock,
      log,
      newId: randomUUID,
      clockTrusted: () => {
        const skew = parts.platform.clockSkewMs();
        return skew !== null && Math.abs(skew) <= trustedSkewMs;
      },
      otherBridge: () => false,
    },
  );
}
