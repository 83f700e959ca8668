import type { Dialect, ListLayout, TimeForm } from "./dialects.js";
import type { Readings } from "./readings.js";
import type { SampleItem } from "./sensors.js";
import { localText } from "./weather.js";

/* The platform's answers in the shape of a dialect. */

export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export interface Answer {
  readonly status: number;
  readonly body: Fields;
}

/** An answer whose body code is 200. */
export const success = (fields: Fields, message: unknown = "success"): Answer => ({
  status: 200,
  body: { code: 200, message, ...fields },
});

interface Manners {
  readonly dialect: Dialect;
  readonly readings: Readings;
}

/** A refusal: another body code, the reason, and the request's id. */
export function failure(
  { dialect: { errorMessage, errorStatus }, readings }: Manners,
  requestId: string,
  code: number,
  why: string,
): Answer {
  const isHttpStatus = errorStatus === "code" && code >= 400 && code <= 599;
  const message = errorMessage === "text" ? why : { code: `E${code}`, message: why };
  // The codes for refused credentials are documented.
  if (readings.has("flagged_refusals") && code !== 401 && code !== 403)
    return { status: 200, body: { code: 200, message, requestId, data: null, success: false } };
  return {
    status: isHttpStatus ? code : 200,
    body: { code, message, requestId, data: null, success: false },
  };
}

/** A computed `__proto__` is an own property, so it is sent like any other. */
const withUnasked = (body: Fields): Fields => ({
  ...body,
  traceId: "0",
  cost: 3,
  constructor: { prototype: {} },
  ["__proto__"]: { polluted: true },
});

/** The body as JSON text, with numbers and extra fields as the dialect has them. */
export function writeBody(body: Fields, { extras, numbers }: Dialect): string {
  const decorate = (item: unknown): unknown =>
    isFields(item) ? { ...item, remark: null, ext: { createBy: "admin" } } : item;
  const written = JSON.stringify(extras ? withUnasked(body) : body, (_key, value: unknown) => {
    if (typeof value === "number" && numbers === "text") return String(value);
    return extras && Array.isArray(value) ? value.map(decorate) : value;
  });
  // An integer above 2^53 is a text until here.
  return numbers === "text" ? written : written.replace(/"customerId":"(\d+)"/g, '"customerId":$1');
}

/** A time (epoch ms) as a dialect writes it. */
export function writeTime(at: number, form: TimeForm): string | number {
  switch (form) {
    case "local":
      return localText(at);
    case "local_slashes":
      return localText(at).replaceAll("-", "/");
    case "iso_utc":
      return new Date(at).toISOString();
    case "iso_offset":
      return `${localText(at).replace(" ", "T")}+08:00`;
    case "epoch_s":
      return Math.floor(at / 1000);
    case "epoch_ms":
      return Math.floor(at);
  }
}

/** An item and its key in a keyed layout. */
export type Named = readonly [key: string, item: unknown];

/** The part of an answer that contains these items. */
export function layOut(named: readonly Named[], layout: ListLayout): Fields {
  const items = named.map(([, item]) => item);
  const total = items.length;
  switch (layout) {
    case "array":
      return { data: items };
    case "list":
      return { data: { list: items, total } };
    case "records":
      return { data: { records: items, total, size: 5000, current: 1, pages: 1 } };
    case "rows":
      return { rows: items, total };
    case "keyed":
      return { data: Object.fromEntries(named) };
  }
}

/** A register's value; numbers lose their leading zeros. */
export function registerValue({ registers }: Dialect, value: string): unknown {
  if (registers === "object") return { value };
  return registers === "number" ? Number(value) : value;
}

interface ReadAddress {
  readonly address: string;
  readonly value: string | null;
  readonly name: string;
}

/**
 * The addresses of one control-parameter type. Those without a value are listed if the dialect shows null for unknown
 * ones.
 */
export function registerGroup(dialect: Dialect, read: readonly ReadAddress[]) {
  const { groupLayout: layout, registers: form, unknownAddress } = dialect;
  const written = form === "number" ? Number : String;
  const itemOf = ({ address, value, name }: ReadAddress): unknown => {
    if (layout === "keyed") return value === null ? null : registerValue(dialect, value);
    const item = { address: written(address), value: value === null ? null : written(value) };
    return layout === "records" ? { ...item, name } : item;
  };
  const listed = read.filter(({ value }) => value !== null || unknownAddress === "null");
  return layOut(
    listed.map((one) => [one.address, itemOf(one)]),
    layout,
  );
}

/** A running status as a control word. */
const controlWord = (isRunning: boolean): string => (isRunning ? "1010" : "1001");

const statusForms = {
  boolean: (isRunning: boolean) => isRunning,
  number: Number,
  text: (isRunning: boolean) => String(Number(isRunning)),
} as const;

/** A running status as the dialect writes it. */
export const runningValue = ({ dialect, readings }: Manners, isRunning: boolean): unknown =>
  readings.has("status_words") ? controlWord(isRunning) : statusForms[dialect.statuses](isRunning);

/** The channel without a reading in dialects with gaps. */
const gapChannel = 7;

function readingOf({ gaps, readings: form }: Dialect, item: SampleItem): unknown {
  const { isOverridden, sensor, value } = item;
  if (isOverridden) return value;
  if (sensor.channel === gapChannel && gaps !== "none") return gaps === "null" ? null : "--";
  if (form === "number" || typeof value !== "number") return value;
  const digits = value.toFixed(sensor.decimals);
  return form === "text" ? digits : `${digits}${sensor.unit}`;
}

/** Real-time sensor data; `at`: the time of the sample, real epoch ms. */
export function sensorList(dialect: Dialect, items: readonly SampleItem[], at: number): Fields {
  const { sensorFields: fields, sensorLayout: layout, sensorNames: names, times } = dialect;
  const sampledAt = writeTime(at, times);
  const written = items.map((item) => {
    const { name, factor, channel, unit } = item.sensor;
    const called = names === "chinese" ? name : factor;
    const shown: Fields = {
      ...(layout !== "keyed" && { [fields.name]: called }),
      ...(fields.factor !== null && { [fields.factor]: factor }),
      ...(fields.channel !== null && { [fields.channel]: channel }),
      [fields.value]: readingOf(dialect, item),
      ...(fields.unit !== null && { [fields.unit]: unit }),
      [fields.time]: sampledAt,
    };
    return { called, factor, channel: String(channel), shown };
  });
  const keyBy = (keyOf: (one: (typeof written)[number]) => Named) => layOut(written.map(keyOf), "keyed");
  if (layout === "points") return { payload: { points: written.map(({ shown }) => shown) } };
  if (layout === "channel_entries")
    return { data: written.map(({ channel, shown }) => ({ channel, sensors: [shown] })) };
  if (layout === "by_channel") return keyBy(({ channel, shown }) => [channel, [shown]]);
  if (layout === "keyed_by_factor") return keyBy(({ factor, shown }) => [factor, shown]);
  return layOut(
    written.map(({ called, shown }) => [called, shown]),
    layout,
  );
}

/** `expiresAt`: real epoch ms. */
export interface IssuedToken {
  readonly token: string;
  readonly expiresAt: number;
}

type SignInForm = (issued: IssuedToken, seconds: number) => Fields;

const signInForms: Record<Dialect["signIn"], SignInForm> = {
  data_token: ({ token }, expiresIn) => ({ data: { token, expiresIn } }),
  flat_token: ({ token }, seconds) => ({ token, expires_in: seconds }),
  data_text: ({ token }) => ({ data: token }),
  oauth: ({ token }, seconds) => ({ access_token: token, token_type: "bearer", expires_in: seconds }),
  data_access_token: ({ token, expiresAt }) => ({ data: { accessToken: token, expireTime: expiresAt } }),
  data_oauth: ({ token }, seconds) => ({
    data: { user: { id: 1, name: "demo" }, access_token: token, expires_in: seconds },
  }),
  flat_access_token: ({ token, expiresAt }) => ({
    accessToken: token,
    expiresAt: new Date(expiresAt).toISOString(),
  }),
};

/** The answer to a sign-in. */
export const signInFields = (dialect: Dialect, issued: IssuedToken, now: number): Fields =>
  signInForms[dialect.signIn](issued, Math.floor((issued.expiresAt - now) / 1000));
