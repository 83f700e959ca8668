export type TimeForm = "local" | "local_slashes" | "iso_utc" | "iso_offset" | "epoch_s" | "epoch_ms";

/** Where the items of a list are: `data`, `data.list`, `data.records`, `rows`, or `data` keyed by each item's name. */
export type ListLayout = "array" | "list" | "records" | "rows" | "keyed";

/**
 * One way a platform could fill in what its interface document leaves open. Whatever the document shows is the same in
 * all of them, but for numbers written as text.
 */
export interface Dialect {
  readonly sensors: {
    /** Of sensor data only: `data` keyed by channel or as one entry per channel, or under names of its own. */
    readonly layout: ListLayout | "keyed_by_factor" | "by_channel" | "channel_entries" | "points";
    /** What an item's fields are called; null where there is none. */
    readonly fields: Readonly<Record<"name" | "value" | "time", string>> &
      Readonly<Record<"unit" | "factor" | "channel", string | null>>;
    readonly value: "number" | "text" | "with_unit";
    readonly names: "chinese" | "code";
    readonly time: TimeForm;
    /** What a sensor without a reading shows; `none`: every sensor has one. */
    readonly gaps: "none" | "null" | "dashes";
  };
  readonly registers: {
    readonly value: "text" | "number" | "object";
    /** What `data` holds for an address the device does not have. */
    readonly unknown: "absent" | "null" | "error";
    readonly flush: ListLayout;
    /** What a control-parameter type holds: the addresses of its actuators, or many others around them. */
    readonly inType: "own" | "many";
  };
  readonly statuses: { readonly layout: ListLayout; readonly value: "number" | "boolean" | "text" };
  readonly setAnswer: "data" | "flat";
  readonly signIn:
    | "data_token"
    | "flat_token"
    | "data_text"
    | "oauth"
    | "data_access_token"
    | "data_oauth"
    | "flat_access_token";
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
  /** Fields beyond the document, hostile names among them. */
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
  /**
   * What a positioner reads while it travels to a degree: the degree it was told, or how far it is; or, for good, the mode
   * alone where mode and degree have one address.
   */
  readonly positionReads: "target" | "travelling" | "mode";
  /** Whether the light wants `1010` once ever or again after each `1001`. */
  readonly lightWants: "once" | "after_off";
}

const plainFields: Dialect["sensors"]["fields"] = {
  ...{ name: "name", value: "value", time: "dateTime" },
  ...{ unit: "unit", factor: "factor", channel: "channel" },
};

/** The plainest guess. */
const plain: Dialect = {
  sensors: {
    ...{ layout: "array", fields: plainFields, value: "number" },
    ...{ names: "chinese", time: "local", gaps: "none" },
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

type Traits = {
  readonly [Trait in keyof Dialect]?: Dialect[Trait] extends object
    ? Partial<Dialect[Trait]>
    : Dialect[Trait];
};

/** The plain dialect but for these traits. */
const unlike = ({ sensors, registers, statuses, lists, errors, ...others }: Traits): Dialect => ({
  ...plain,
  ...others,
  sensors: { ...plain.sensors, ...sensors },
  registers: { ...plain.registers, ...registers },
  statuses: { ...plain.statuses, ...statuses },
  lists: { ...plain.lists, ...lists },
  errors: { ...plain.errors, ...errors },
});

const list = unlike({
  sensors: {
    ...{ layout: "list", value: "text", time: "iso_offset" },
    fields: { ...plainFields, name: "sensorName", value: "sensorValue", unit: "sensorUnit", factor: null },
  },
  registers: { value: "number", unknown: "null", flush: "array" },
  statuses: { layout: "list", value: "boolean" },
  lists: { layout: "list" },
  ...{ setAnswer: "flat", signIn: "flat_token", push: "event", positionReads: "travelling" },
});

const records = unlike({
  sensors: {
    ...{ layout: "records", value: "with_unit", time: "local_slashes", gaps: "dashes" },
    fields: { ...plainFields, name: "factorName", unit: null, factor: "factorCode", channel: "channelNo" },
  },
  registers: { value: "object", unknown: "error", flush: "records" },
  statuses: { layout: "records", value: "text" },
  lists: { layout: "records", everything: true },
  ...{ signIn: "data_text", push: "batch" },
});

const rows = unlike({
  sensors: {
    ...{ layout: "rows", names: "code", time: "epoch_ms" },
    fields: { ...plainFields, name: "code", factor: null, channel: null },
  },
  registers: { unknown: "null", flush: "rows", inType: "many" },
  statuses: { layout: "rows" },
  lists: { layout: "rows" },
  errors: { status: "code" },
  ...{ setAnswer: "flat", signIn: "oauth", push: "event", pestMonitor: "readings", lightWants: "after_off" },
});

const keyed = unlike({
  sensors: {
    ...{ layout: "keyed", time: "epoch_s", gaps: "null" },
    fields: { ...plainFields, channel: null },
  },
  registers: { value: "number" },
  statuses: { layout: "keyed", value: "boolean" },
  lists: { layout: "keyed", everything: true },
  ...{ signIn: "data_access_token", offlinePost: "accept", push: "batch" },
});

const channels = unlike({
  sensors: {
    ...{ layout: "by_channel", value: "text", time: "iso_utc" },
    fields: { ...plainFields, name: "label", value: "val", unit: "unitName", factor: "code" },
  },
  registers: { value: "object", flush: "list" },
  ...{ signIn: "data_oauth", push: "event", clients: "stations" },
});

const text = unlike({
  sensors: {
    ...{ layout: "keyed_by_factor", value: "text", gaps: "dashes" },
    fields: { ...plainFields, factor: null },
  },
  registers: { unknown: "error", flush: "array" },
  lists: { layout: "list", extension: "filled" },
  errors: { status: "code", message: "object" },
  ...{ setAnswer: "flat", signIn: "flat_access_token", numbers: "text", extras: true },
  ...{ offlinePost: "accept", positionReads: "travelling" },
});

const entries = unlike({
  sensors: {
    ...{ layout: "channel_entries", value: "with_unit", time: "iso_offset", gaps: "null" },
    fields: { ...plainFields, unit: null, channel: null },
  },
  registers: { value: "object", unknown: "null", flush: "array", inType: "many" },
  statuses: { layout: "list", value: "text" },
  lists: { extension: "filled" },
  ...{ setAnswer: "flat", extras: true, push: "batch" },
});

/** Names that cannot be guessed; readable only with `platform.shapes` in the configuration. */
const odd = unlike({
  sensors: {
    layout: "points",
    fields: { name: "what", value: "now", unit: "scale", factor: null, channel: null, time: "dateTime" },
  },
  sensorQuery: "facility",
});

/** Dialects by the name `simulate --profile` takes; a test writes them into docs/simulator.md, trait by trait. */
const named = {
  default: plain,
  ...{ list, records, rows, keyed, channels, text, entries },
  mode_stays: unlike({ positionReads: "mode" }),
  odd,
};

export type ProfileName = keyof typeof named;

export const profiles: Readonly<Record<ProfileName, Dialect>> = named;

export const profileNames = Object.keys(named) as readonly ProfileName[];

/** Dialects that a bridge must read without being told anything, and in which every value that it sends can be read back. */
export const plainProfileNames: readonly ProfileName[] = profileNames.filter(
  (name) => name !== "odd" && name !== "mode_stays",
);
