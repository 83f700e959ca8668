import type { TimeForm } from "./weather.js";

/** Where the items of a list are: `data`, `data.list`, `data.records`, `rows`, or `data` keyed by each item's name. */
export type ListLayout = "array" | "list" | "records" | "rows" | "keyed";

/** Of sensor data only: `data` keyed by channel or as one entry per channel, or under names of its own. */
type SensorLayout = ListLayout | "keyed_by_factor" | "by_channel" | "channel_entries" | "points";

type ValueForm = "number" | "text" | "with_unit";
type RegisterForm = "text" | "number" | "object";
type SignInForm =
  | "data_token"
  | "flat_token"
  | "data_text"
  | "oauth"
  | "data_access_token"
  | "data_oauth"
  | "flat_access_token";

interface SensorFields {
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

const plainFields: SensorFields = {
  name: "name",
  value: "value",
  unit: "unit",
  factor: "factor",
  channel: "channel",
  time: "dateTime",
};

const plain: Dialect = {
  summary: "the plainest guess: arrays under data, numbers, Chinese names, local time text",
  sensors: {
    layout: "array",
    fields: plainFields,
    value: "number",
    names: "chinese",
    time: "local",
    gaps: "none",
  },
  registers: { value: "text", unknown: "absent", flush: "keyed", inType: "own" },
  statuses: { layout: "array", value: "number" },
  setAnswer: "data",
  signIn: "data_token",
  lists: { layout: "array", extension: "empty", everything: false },
  sensorQuery: "deviceCode",
  numbers: "plain",
  extras: false,
  errors: { status: "200", message: "text" },
  push: "bare",
  clients: "controllers",
  pestMonitor: "pictures",
  offlinePost: "refuse",
  positionReads: "target",
  lightWants: "once",
};

const list: Dialect = {
  ...plain,
  summary:
    "data.list, numeric strings, ISO times, registers as numbers (leading zeros lost), flat set-value answer",
  sensors: {
    ...plain.sensors,
    layout: "list",
    fields: { ...plainFields, name: "sensorName", value: "sensorValue", unit: "sensorUnit", factor: null },
    value: "text",
    time: "iso_offset",
  },
  registers: { value: "number", unknown: "null", flush: "array", inType: "own" },
  statuses: { layout: "list", value: "boolean" },
  setAnswer: "flat",
  signIn: "flat_token",
  lists: { layout: "list", extension: "empty", everything: false },
  push: "event",
  positionReads: "travelling",
};

const records: Dialect = {
  ...plain,
  summary: 'data.records, values with their unit ("23.5℃"), times with slashes, registers as {value}',
  sensors: {
    ...plain.sensors,
    layout: "records",
    fields: { ...plainFields, name: "factorName", unit: null, factor: "factorCode", channel: "channelNo" },
    value: "with_unit",
    time: "local_slashes",
    gaps: "dashes",
  },
  registers: { value: "object", unknown: "error", flush: "records", inType: "own" },
  statuses: { layout: "records", value: "text" },
  signIn: "data_text",
  lists: { layout: "records", extension: "empty", everything: true },
  push: "batch",
};

const rows: Dialect = {
  ...plain,
  summary:
    "rows, names are factor codes, epoch milliseconds, no channels; the light wants 1010 after each off",
  sensors: {
    ...plain.sensors,
    layout: "rows",
    fields: { ...plainFields, name: "code", factor: null, channel: null },
    names: "code",
    time: "epoch_ms",
  },
  registers: { value: "text", unknown: "null", flush: "rows", inType: "many" },
  statuses: { layout: "rows", value: "number" },
  setAnswer: "flat",
  signIn: "oauth",
  lists: { layout: "rows", extension: "empty", everything: false },
  errors: { status: "code", message: "text" },
  push: "event",
  pestMonitor: "readings",
  lightWants: "after_off",
};

const keyed: Dialect = {
  ...plain,
  summary:
    "objects keyed by name, epoch seconds, registers as numbers; POSTs to offline devices are accepted",
  sensors: {
    ...plain.sensors,
    layout: "keyed",
    fields: { ...plainFields, channel: null },
    time: "epoch_s",
    gaps: "null",
  },
  registers: { value: "number", unknown: "absent", flush: "keyed", inType: "own" },
  statuses: { layout: "keyed", value: "boolean" },
  signIn: "data_access_token",
  lists: { layout: "keyed", extension: "empty", everything: true },
  offlinePost: "accept",
  push: "batch",
};

const channels: Dialect = {
  ...plain,
  summary: "sensors grouped by channel, UTC times, numeric strings, flush as a list of {address, value}",
  sensors: {
    ...plain.sensors,
    layout: "by_channel",
    fields: { ...plainFields, name: "label", value: "val", unit: "unitName", factor: "code" },
    value: "text",
    time: "iso_utc",
  },
  registers: { value: "object", unknown: "absent", flush: "list", inType: "own" },
  signIn: "data_oauth",
  push: "event",
  clients: "stations",
};

const text: Dialect = {
  ...plain,
  summary:
    "every number is text, objects keyed by factor code, fields nobody asked for, errors as HTTP status",
  sensors: {
    ...plain.sensors,
    layout: "keyed_by_factor",
    fields: { ...plainFields, factor: null },
    value: "text",
    gaps: "dashes",
  },
  registers: { value: "text", unknown: "error", flush: "array", inType: "own" },
  setAnswer: "flat",
  signIn: "flat_access_token",
  lists: { layout: "list", extension: "filled", everything: false },
  numbers: "text",
  extras: true,
  errors: { status: "code", message: "object" },
  offlinePost: "accept",
  positionReads: "travelling",
};

const entries: Dialect = {
  ...plain,
  summary: "one entry per channel with its sensors inside, values with their unit, ISO times",
  sensors: {
    ...plain.sensors,
    layout: "channel_entries",
    fields: { ...plainFields, unit: null, factor: "factor", channel: null },
    value: "with_unit",
    time: "iso_offset",
    gaps: "null",
  },
  registers: { value: "object", unknown: "null", flush: "array", inType: "many" },
  statuses: { layout: "list", value: "text" },
  setAnswer: "flat",
  extras: true,
  push: "batch",
  lists: { ...plain.lists, extension: "filled" },
};

const odd: Dialect = {
  ...plain,
  summary: "names nobody would guess; readable only with platform.shapes in the configuration",
  sensors: {
    ...plain.sensors,
    layout: "points",
    fields: { name: "what", value: "now", unit: "scale", factor: null, channel: null, time: "dateTime" },
    time: "local",
  },
  sensorQuery: "facility",
};

const modeStays: Dialect = {
  ...plain,
  summary: "as default, but an address goes on reading 10100 after a degree",
  positionReads: "mode",
};

export const profileNames = [
  "default",
  "list",
  "records",
  "rows",
  "keyed",
  "channels",
  "text",
  "entries",
  "mode_stays",
  "odd",
] as const;

export type ProfileName = (typeof profileNames)[number];

/** Dialects by the name `simulate --profile` takes. */
export const profiles: Readonly<Record<ProfileName, Dialect>> = {
  default: plain,
  list,
  records,
  rows,
  keyed,
  channels,
  text,
  entries,
  mode_stays: modeStays,
  odd,
};

/** Dialects that a bridge must read without being told anything, and in which every value that it sends can be read back. */
export const plainProfileNames: readonly ProfileName[] = profileNames.filter(
  (name) => name !== "odd" && name !== "mode_stays",
);
