import type { CoreConfiguration } from "../settings/sections/core.js";

/** What the client takes of its section of the configuration. Durations are ms. */
export type PlatformSettings = Omit<CoreConfiguration["platform"], "allow_insecure">;

/** How to read one operation where its answer is ambiguous. Paths are dotted: `data.list`. */
export type OperationShape = NonNullable<PlatformSettings["shapes"][keyof PlatformSettings["shapes"]]>;

/** Keyed by operation as the document names it: `sensor-data`, `set-value/flush`, `control/mqtt`. */
export type ShapeSettings = Readonly<Record<string, OperationShape | undefined>>;
