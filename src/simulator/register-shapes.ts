import type { Dialect, ListLayout } from "./dialects.js";
import type { IssuedToken } from "./token-store.js";

export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

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
export function registerValue({ registers }: Dialect, value: string): unknown {
  if (registers.value === "object") return { value };
  return registers.value === "number" ? Number(value) : value;
}

/** The addresses of one parameter group. */
export function flushAnswer(
  dialect: Dialect,
  read: readonly (readonly [address: string, value: string])[],
): Fields {
  const { flush, value: form } = dialect.registers;
  const keyed = read.map(([address, value]) => [address, registerValue(dialect, value)]);
  if (flush === "keyed") return { data: Object.fromEntries(keyed) as Fields };
  const written = form === "number" ? Number : String;
  const items = read.map(([address, value]) => ({ address: written(address), value: written(value) }));
  return layOut(items, flush, (item) => String(item.address));
}

const signInForms: Record<Dialect["signIn"], (issued: IssuedToken, seconds: number) => Fields> = {
  data_token: ({ token }, seconds) => ({ data: { token, expiresIn: seconds } }),
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

export const signInAnswer = (dialect: Dialect, issued: IssuedToken, now: number): Fields =>
  signInForms[dialect.signIn](issued, Math.floor((issued.expiresAt - now) / 1000));
