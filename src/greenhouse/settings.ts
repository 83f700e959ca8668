import type { ActuatorKind, ReadTable } from "./actuator-kinds.js";
import type { BandsByKind, BandSettings } from "./bands.js";
import type { NumberRange, RawText } from "./command/setpoints.js";
import type { ParameterGroup, StatusNumber } from "./device-types.js";
import type { Limits } from "./limits.js";
import type { ActuatorReadings } from "./readings.js";
import type { SensorKind } from "./sensors.js";

/*
 * The user's decisions about mirroring, in the core's words. `sync/settings.ts` makes them from the configuration;
 * durations are ms.
 */

export interface SensorSettings {
  readonly id: string;
  /** The platform's exact name or factor code, or `name@channel`. */
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
  /** Overrides the limits of its kind. */
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
  /** Command word → value, in addition to those of the kind. */
  readonly values: Readonly<Record<string, string>>;
  /** For a writable parameter or raw address, whose commands are values instead of words. */
  readonly accepts?: NumberRange | RawText;
  readonly leadIn: "when_not_on" | "always" | "never";
  readonly settleMs: number;
  readonly travelMs: number;
  readonly confirmWithinMs: number;
  readonly minIntervalMs: number;
  readonly tolerance: number;
  readonly group?: ParameterGroup;
  /** Accepts commands although its type, or that of its device, contradicts the kind. */
  readonly acceptType?: boolean;
  /** Numbers of its running statuses. */
  readonly running?: readonly StatusNumber[];
  /** How long it may show on while no running status is on. */
  readonly notRunningAfterMs?: number;
  readonly readOnly: boolean;
  /** Limits of its commands; absent for none. */
  readonly limits?: Limits;
  readonly homeAssistant: {
    readonly as?: HomeAssistantView;
    readonly icon?: string;
    readonly enabled: boolean;
    /** Inverts cover and position. */
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
  /** Its place in the file, which gives the order of display. */
  readonly place?: number;
  readonly id?: string;
  readonly name?: string;
  readonly area?: string;
  readonly ignore: boolean;
  /** Whether to mirror its averages too. */
  readonly averages?: boolean;
  /** Whether to show the address of its video stream. */
  readonly stream?: boolean;
  readonly sensors: readonly SensorSettings[];
  readonly actuators: readonly ActuatorSettings[];
  /** Actuators that are neither mirrored nor commanded, whose addresses nothing else may use. */
  readonly ignored?: readonly ActuatorSettings[];
  readonly parameters: readonly ParameterSettings[];
}

export interface MirrorSettings {
  /** `listed`: only controllers named in the configuration. */
  readonly mirror: "all" | "listed";
  readonly controllers: ReadonlyMap<string, ControllerSettings>;
  /** Words with the values of running statuses that mean them, in addition to the built-in ones. */
  readonly statusReads?: ReadTable;
  /** Limits of readings by kind. */
  readonly bands?: BandsByKind;
  readonly staleAfterMs: number;
}
