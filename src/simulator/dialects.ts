import { keysOf } from "../runtime/objects.js";
export type TimeForm = "local" | "local_slashes" | "iso_utc" | "iso_offset" | "epoch_s" | "epoch_ms";

/** Where a list has its items: `data`, `data.list`, `data.records`, `rows`, or `data` keyed by each item's name. */
export type ListLayout = "array" | "list" | "records" | "rows" | "keyed";

/**
 * One way in which a platform could fill in what its interface document leaves open. All dialects agree on what the
 * document shows, except for numbers written as text.
 */
export interface Dialect {
  /** Sensor data may also be keyed by factor or channel, have one entry per channel, or use other names. */
  readonly sensorLayout: ListLayout | "keyed_by_factor" | "by_channel" | "channel_entries" | "points";
  /** Names of a sensor's fields; null for a missing field. */
  readonly sensorFields: Readonly<Record<"name" | "value" | "time", string>> &
    Readonly<Record<"unit" | "factor" | "channel", string | null>>;
  readonly readings: "number" | "text" | "with_unit";
  readonly sensorNames: "chinese" | "code";
  readonly times: TimeForm;
  /** What a sensor without a reading shows; `none`: every sensor has a reading. */
  readonly gaps: "none" | "null" | "dashes";
  readonly registers: "text" | "number" | "object";
  /** What `data` holds for an address that the device lacks. */
  readonly unknownAddress: "absent" | "null" | "error";
  readonly groupLayout: ListLayout;
  /** What a control-parameter type contains: the addresses of its actuators, or many others around them. */
  readonly inType: "own" | "many";
  readonly statusLayout: ListLayout;
  readonly statuses: "number" | "boolean" | "text";
  readonly setAnswer: "data" | "flat";
  readonly signIn:
    | ("data_token" | "flat_token" | "data_text" | "oauth")
    | ("data_access_token" | "data_oauth" | "flat_access_token");
  readonly listLayout: ListLayout;
  /** Whether extension fields are filled, and a stream's address contains a login. */
  readonly extension: "empty" | "filled";
  /** Which lists contain stream addresses: those of devices too, or only that of videos. */
  readonly streams: "lists" | "videos";
  /** Whether the list of all controllers shows weather stations and cameras too. */
  readonly everything: boolean;
  /** The query parameter for the device code in `sensor-data`. */
  readonly sensorQuery: string;
  readonly numbers: "plain" | "text";
  /** Fields that the document does not have, with hostile names among them. */
  readonly extras: boolean;
  /** The HTTP status with a body code other than 200: always 200, or the code. */
  readonly errorStatus: "200" | "code";
  readonly errorMessage: "text" | "object";
  readonly push: "bare" | "event" | "batch";
  /** Devices with an MQTT client, which therefore have a single-device status. */
  readonly clients: "controllers" | "stations";
  /** What a pest monitor gives: only pictures, or readings too. */
  readonly pestMonitor: "pictures" | "readings";
  /** What the platform does with a POST to a device that is offline. */
  readonly offlinePost: "refuse" | "accept";
  /**
   * What a positioner reads while it travels to a degree: the target, or the present degree. `mode`: always the mode
   * alone, if mode and degree share an address.
   */
  readonly positionReads: "target" | "travelling" | "mode";
  /** Whether the light needs `1010` only once, or again after each `1001`. */
  readonly lightWants: "once" | "after_off";
}

const plainFields: Dialect["sensorFields"] = {
  name: "name",
  value: "value",
  time: "dateTime",
  unit: "unit",
  factor: "factor",
  channel: "channel",
};

/** The plainest guess. */
const plain: Dialect = {
  sensorLayout: "array",
  sensorFields: plainFields,
  readings: "number",
  sensorNames: "chinese",
  times: "local",
  gaps: "none",
  registers: "text",
  unknownAddress: "absent",
  groupLayout: "keyed",
  inType: "own",
  statusLayout: "array",
  statuses: "number",
  setAnswer: "data",
  signIn: "data_token",
  listLayout: "array",
  extension: "empty",
  streams: "lists",
  everything: false,
  sensorQuery: "deviceCode",
  numbers: "plain",
  extras: false,
  errorStatus: "200",
  errorMessage: "text",
  push: "bare",
  clients: "controllers",
  pestMonitor: "pictures",
  offlinePost: "refuse",
  positionReads: "target",
  lightWants: "once",
};

type Traits = Partial<Omit<Dialect, "sensorFields">> & {
  readonly sensorFields?: Partial<Dialect["sensorFields"]>;
};

/** The plain dialect, except for these traits. */
const unlike = ({ sensorFields, ...others }: Traits): Dialect => ({
  ...plain,
  ...others,
  sensorFields: { ...plainFields, ...sensorFields },
});

/** Dialects by their name in `simulate --profile`; a test writes them into docs/inside/simulator.md, trait by trait. */
const named = {
  default: plain,
  list: unlike({
    sensorLayout: "list",
    readings: "text",
    times: "iso_offset",
    registers: "number",
    sensorFields: { name: "sensorName", value: "sensorValue", unit: "sensorUnit", factor: null },
    unknownAddress: "null",
    groupLayout: "array",
    statusLayout: "list",
    statuses: "boolean",
    listLayout: "list",
    setAnswer: "flat",
    signIn: "flat_token",
    push: "event",
    positionReads: "travelling",
  }),
  records: unlike({
    sensorLayout: "records",
    readings: "with_unit",
    times: "local_slashes",
    gaps: "dashes",
    sensorFields: {
      name: "factorName",
      value: "data",
      unit: null,
      factor: "factorCode",
      channel: "channelNo",
    },
    registers: "object",
    unknownAddress: "error",
    groupLayout: "records",
    statusLayout: "records",
    statuses: "text",
    listLayout: "records",
    everything: true,
    signIn: "data_text",
    push: "batch",
  }),
  rows: unlike({
    sensorLayout: "rows",
    sensorNames: "code",
    times: "epoch_ms",
    unknownAddress: "null",
    sensorFields: { name: "code", factor: null, channel: null },
    groupLayout: "rows",
    inType: "many",
    statusLayout: "rows",
    listLayout: "rows",
    push: "event",
    errorStatus: "code",
    setAnswer: "flat",
    signIn: "oauth",
    pestMonitor: "readings",
    lightWants: "after_off",
  }),
  keyed: unlike({
    sensorLayout: "keyed",
    times: "epoch_s",
    gaps: "null",
    registers: "number",
    sensorFields: { channel: null },
    statusLayout: "keyed",
    statuses: "boolean",
    listLayout: "keyed",
    everything: true,
    signIn: "data_access_token",
    offlinePost: "accept",
    push: "batch",
  }),
  channels: unlike({
    sensorLayout: "by_channel",
    readings: "text",
    times: "iso_utc",
    registers: "object",
    sensorFields: { name: "label", value: "val", unit: "unitName", factor: "code" },
    groupLayout: "list",
    signIn: "data_oauth",
    push: "event",
    clients: "stations",
  }),
  text: unlike({
    sensorLayout: "keyed_by_factor",
    readings: "text",
    gaps: "dashes",
    unknownAddress: "error",
    sensorFields: { factor: null },
    groupLayout: "array",
    listLayout: "list",
    extension: "filled",
    errorStatus: "code",
    errorMessage: "object",
    setAnswer: "flat",
    signIn: "flat_access_token",
    numbers: "text",
    extras: true,
    offlinePost: "accept",
    positionReads: "travelling",
  }),
  entries: unlike({
    sensorLayout: "channel_entries",
    readings: "with_unit",
    times: "iso_offset",
    gaps: "null",
    sensorFields: { unit: null, channel: null },
    registers: "object",
    unknownAddress: "null",
    groupLayout: "array",
    inType: "many",
    statusLayout: "list",
    statuses: "text",
    extension: "filled",
    streams: "videos",
    extras: true,
    setAnswer: "flat",
    push: "batch",
  }),
  mode_stays: unlike({ positionReads: "mode" }),
  /** Names that nobody can guess; readable only with `platform.shapes` in the configuration. */
  odd: unlike({
    sensorLayout: "points",
    sensorQuery: "facility",
    sensorFields: { name: "what", value: "now", unit: "scale", factor: null, channel: null },
  }),
};

export type ProfileName = keyof typeof named;

export const profiles: Readonly<Record<ProfileName, Dialect>> = named;

export const profileNames = keysOf(named);

/** Dialects that a bridge must read without configuration, and in which every value that it sends can be read back. */
export const plainProfileNames: readonly ProfileName[] = profileNames.filter(
  (name) => name !== "odd" && name !== "mode_stays",
);
