import type { TimeForm } from "./local-time.js";

/** Where the items of a list are: `data`, `data.list`, `data.records`, `rows`, or `data` keyed by each item's name. */
export type ListLayout = "array" | "list" | "records" | "rows" | "keyed";

/** Of sensor data only: `data` keyed by channel or as one entry per channel, or under names of its own. */
export type SensorLayout = ListLayout | "keyed_by_factor" | "by_channel" | "channel_entries" | "points";

export type ValueForm = "number" | "text" | "with_unit";
export type RegisterForm = "text" | "number" | "object";
export type SignInForm =
  | "data_token"
  | "flat_token"
  | "data_text"
  | "oauth"
  | "data_access_token"
  | "data_oauth"
  | "flat_access_token";

export interface SensorFields {
  readonly name: string;
  readonly value: string;
  readonly unit: string | null;
  readonly factor: string | null;
  readonly channel: string | null;
  readonly time: string;
}

/**
 * One way a platform could fill in what its interface document leaves open. Whatever the document shows is the same in
 * all of them, but for numbers written as text.
 */
export interface Dialect {
  readonly summary: string;
  readonly sensors: {
    readonly layout: SensorLayout;
    readonly fields: SensorFields;
    readonly value: ValueForm;
    readonly names: "chinese" | "code";
    readonly time: TimeForm;
    /** What a sensor without a reading shows; `none`: every sensor has one. */
    readonly gaps: "none" | "null" | "dashes";
  };
  readonly registers: {
    readonly value: RegisterForm;
    /** What `data` holds for an address the device does not have. */
    readonly unknown: "absent" | "null" | "error";
    readonly flush: ListLayout;
    /** What a control-parameter type holds: the addresses of its actuators, or many others around them. */
    readonly inType: "own" | "many";
  };
  readonly statuses: { readonly layout: ListLayout; readonly value: "number" | "boolean" | "text" };
  readonly setAnswer: "data" | "flat";
  readonly signIn: SignInForm;
  readonly lists: {
    readonly layout: ListLayout;
    /** Extension fields and a stream's address with a login, or nothing in them. */
    readonly extension: "empty" | "filled";
    /** Whether the list of all controllers shows weather stations and cameras too. */
    readonly everything: boolean;
  };
  /** Name of the query parameter that carries the device code in `sensor-data`. */
  readonly sensorQuery: string;
  readonly numbers: "plain" | "text";
  /** Fields nobody asked for, hostile names among them. */
  readonly extras: boolean;
  readonly errors: {
    /** The HTTP status beside a body code that is not 200: always 200, or the code. */
    readonly status: "200" | "code";
    readonly message: "text" | "object";
  };
  readonly push: "bare" | "event" | "batch";
  /** Which devices have an MQTT client, and so a single-device status of their own. */
  readonly clients: "controllers" | "stations";
  /** What a pest monitor gives: pictures alone, or readings as well. */
  readonly pestMonitor: "pictures" | "readings";
  /** What the platform does with a POST to a device that is offline. */
  readonly offlinePost: "refuse" | "accept";
  readonly positionReads: "target" | "travelling" | "mode";
  readonly lightWants: "once" | "after_off";
}
