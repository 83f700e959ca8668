import type { ActuatorKind, ReadTable } from "./actuator-kinds.js";
import type { BandsByKind, BandSettings } from "./bands.js";
import type { NumberRange, RawText } from "./command/setpoints.js";
import type { ParameterGroup, StatusNumber } from "./device-types.js";
import type { Limits } from "./limits.js";
import type { ActuatorReadings } from "./readings.js";
import type { SensorKind } from "./sensors.js";

/*
 * What the user decided about the mirror, in the core's words. Made from the configuration by `sync/settings.ts`; durations are ms.
 */

export interface SensorSettings {
  readonly id: string;
  /** Exact name or factor code of the platform, or `name@channel`. */
  readonly from: string;
  readonly name?: string;
  readonly kind?: SensorKind;
  readonly unit?: string;
  readonly scale?: number;
  readonly offset?: number;
  readonly decimals?: number;
  readonly min?: number;
  readonly max?: number;
  readonly staleAfterMs?: number;
  readonly ignore: boolean;
  /** Nearer than what holds for its kind. */
  readonly alarm?: BandSettings;
}

export type HomeAssistantView = "cover" | "switch" | "light" | "valve" | "select" | "none";

export interface ActuatorSettings extends ActuatorReadings {
  readonly id: string;
  readonly name?: string;
  readonly kind: ActuatorKind;
  readonly address: string;
  readonly modeAddress?: string;
  readonly positionAddress?: string;
  readonly stop?: { readonly address: string; readonly value: string };
  /** Command word → value, beside those of the kind. */
  readonly values: Readonly<Record<string, string>>;
  /** A writable parameter or a raw address: its commands are values, not words. */
  readonly accepts?: NumberRange | RawText;
  readonly leadIn: "when_not_on" | "always" | "never";
  readonly settleMs: number;
  readonly travelMs: number;
  readonly confirmWithinMs: number;
  readonly minIntervalMs: number;
  readonly tolerance: number;
  readonly group?: ParameterGroup;
  /** Commanded although its type, or that of its device, says that it is something else. */
  readonly acceptType?: boolean;
  /** Numbers of the running statuses that belong to it. */
  readonly running?: readonly StatusNumber[];
  /** How long it may show on while none of these runs. */
  readonly notRunningAfterMs?: number;
  readonly readOnly: boolean;
  /** What narrows its commands; absent where nothing of it is configured. */
  readonly limits?: Limits;
  readonly homeAssistant: {
    readonly as?: HomeAssistantView;
    readonly icon?: string;
    readonly enabled: boolean;
    /** Cover and position the other way round. */
    readonly inverted?: boolean;
  };
}

export interface ParameterSettings {
  readonly id: string;
  readonly name?: string;
  readonly address: string;
  readonly unit?: string;
  readonly scale: number;
  readonly decimals?: number;
  readonly group?: ParameterGroup;
  readonly writable?: { readonly min: number; readonly max: number; readonly step: number };
}

export interface ControllerSettings {
  readonly code: string;
  /** Among those of the file, which are shown in its order. */
  readonly place?: number;
  readonly id?: string;
  readonly name?: string;
  readonly area?: string;
  readonly ignore: boolean;
  /** Mirror its averages too. */
  readonly averages?: boolean;
  /** Show the address of its video stream. */
  readonly stream?: boolean;
  readonly sensors: readonly SensorSettings[];
  readonly actuators: readonly ActuatorSettings[];
  /** Neither mirrored nor commanded, but nobody else's addresses either. */
  readonly ignored?: readonly ActuatorSettings[];
  readonly parameters: readonly ParameterSettings[];
}

export interface MirrorSettings {
  /** `listed`: only the controllers named in the configuration. */
  readonly mirror: "all" | "listed";
  readonly controllers: ReadonlyMap<string, ControllerSettings>;
  /** Words and the values of running statuses that mean them, beside those that mean on and off anyway. */
  readonly statusReads?: ReadTable;
  /** Between which values readings are as they should be, by kind. */
  readonly bands?: BandsByKind;
  readonly staleAfterMs: number;
  /** A controller absent from every list for this long is removed. */
  readonly removeAfterMs: number;
}
