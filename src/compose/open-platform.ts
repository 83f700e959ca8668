import { createPlatform, type PlatformClient } from "../platform/client.js";
import type { BridgeSurroundings } from "./bridge-parts.js";
import { platformSettings } from "./platform-settings.js";

type OnLink = Parameters<typeof createPlatform>[1]["onLink"];

/** The client of the configured account; close it at the end. */
export const openPlatform = (
  {
    configuration,
    clock,
    random,
    log,
  }: Pick<BridgeSurroundings, "configuration" | "clock" | "random" | "log">,
  onLink: OnLink,
): PlatformClient =>
  createPlatform(platformSettings(configuration), {
    clock,
    random,
    log,
    dataDir: configuration.data_dir,
    onLink,
  });
