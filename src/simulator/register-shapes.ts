import type { Dialect, ListLayout } from "./dialects.js";
import type { IssuedToken } from "./token-book.js";

export type Fields = Record<string, unknown>;

/** The part of an answer that holds these items; `keyOf` names each where the layout is keyed. */
export function layOut<T>(items: readonly T[], layout: ListLayout, keyOf: (item: T) => string): Fields {
  switch (layout) {
    case "array":
      return { data: items };
    case "list":
      return { data: { list: items, total: items.length } };
    case "records":
      return { data: { records: items, total: items.length, size: 5000, current: 1, pages: 1 } };
    case "rows":
      return { rows: items, total: items.length };
    case "keyed":
      return { data: Object.fromEntries(items.map((item) => [keyOf(item), item])) };
  }
}

/** A register's value as the dialect writes it; numbers lose their leading zeros. */
export function registerValue(dialect: Dialect, value: string): unknown {
  switch (dialect.registers.value) {
    case "text":
      return value;
    case "number":
      return Number(value);
    case "object":
      return { value };
  }
}

/** `data` of a get-value answer. */
export function readAnswer(dialect: Dialect, address: string, value: string | null): Fields {
  if (value !== null) return { data: { [address]: registerValue(dialect, value) } };
  return { data: dialect.registers.unknown === "null" ? { [address]: null } : {} };
}

export interface ReadAddress {
  readonly address: string;
  readonly value: string;
}

/** The addresses of one parameter group. */
export function flushAnswer(dialect: Dialect, read: readonly ReadAddress[]): Fields {
  const { flush } = dialect.registers;
  if (flush === "keyed") {
    const entries = read.map(({ address, value }) => [address, registerValue(dialect, value)] as const);
    return { data: Object.fromEntries(entries) };
  }
  const items = read.map(({ address, value }) => {
    const isNumber = dialect.registers.value === "number";
    return { address: isNumber ? Number(address) : address, value: isNumber ? Number(value) : value };
  });
  return layOut(items, flush, (item) => String(item.address));
}

type Status = Dialect["statuses"]["value"];

const statusForms: Record<Status, (isRunning: boolean) => unknown> = {
  number: Number,
  boolean: (isRunning) => isRunning,
  text: (isRunning) => (isRunning ? "1" : "0"),
};

export const statusValue = (dialect: Dialect, isRunning: boolean): unknown =>
  statusForms[dialect.statuses.value](isRunning);

/** The answer to an accepted control value. */
export function setAnswer(dialect: Dialect, echo: Fields): Fields {
  return dialect.setAnswer === "data" ? { data: echo } : echo;
}

const seconds = (issued: IssuedToken, now: number): number => Math.floor((issued.expiresAt - now) / 1000);

const signInForms: Record<Dialect["signIn"], (issued: IssuedToken, now: number) => Fields> = {
  data_token: (issued, now) => ({ data: { token: issued.token, expiresIn: seconds(issued, now) } }),
  flat_token: (issued, now) => ({ token: issued.token, expires_in: seconds(issued, now) }),
  data_text: (issued) => ({ data: issued.token }),
  oauth: (issued, now) => ({
    access_token: issued.token,
    token_type: "bearer",
    expires_in: seconds(issued, now),
  }),
  data_access_token: (issued) => ({ data: { accessToken: issued.token, expireTime: issued.expiresAt } }),
  data_oauth: (issued, now) => ({
    data: { user: { id: 1, name: "demo" }, access_token: issued.token, expires_in: seconds(issued, now) },
  }),
  flat_access_token: (issued) => ({
    accessToken: issued.token,
    expiresAt: new Date(issued.expiresAt).toISOString(),
  }),
};

export const signInAnswer = (dialect: Dialect, issued: IssuedToken, now: number): Fields =>
  signInForms[dialect.signIn](issued, now);
