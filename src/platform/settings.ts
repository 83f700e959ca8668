import type { CoreConfiguration } from "../settings/sections/core.js";

/** The client's section of the configuration. Durations are ms. */
export type PlatformSettings = Omit<CoreConfiguration["platform"], "allow_insecure">;

/** How to read an operation whose answer is ambiguous. Paths are dotted: `data.list`. */
export type OperationShape = NonNullable<PlatformSettings["shapes"][keyof PlatformSettings["shapes"]]>;

/** By operation, as in the document: `sensor-data`, `set-value/flush`, `control/mqtt`. */
export type ShapeSettings = Readonly<Record<string, OperationShape | undefined>>;
