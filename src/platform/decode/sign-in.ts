import { isToken } from "../session/credential.js";
import { at, type Fields, isFields, own, textOf, words } from "./decoding.js";

export interface SignInAnswer {
  readonly token: string;
  /** Ms from now for which it is valid; null where the answer gives nothing sensible. */
  readonly lifetimeMs: number | null;
}

const tokenNames = words(
  "token accessToken access_token ACCESS_TOKEN tokenValue jwt id_token authToken authorization Authorization",
);
const folders = words("data result payload body token tokenInfo auth user");
const lifetimeNames = words("expiresIn expires_in expireIn expire_in tokenTimeout ttl");
const endNames = words("expireTime expiresAt expires_at expireAt expiration expires exp");

/** Headers in which some programs send it. */
const headerNames = words("authorization x-auth-token x-access-token access-token token");

/**
 * The token of a sign-in answer: at the configured path, else in the usual places of its body, else in its headers.
 * Null for none: a text that merely stands where a token could be (`"data": "ok"`) is not one. `readTime` parses an
 * instant of the platform, epoch ms.
 */
export function readSignIn(
  { body, headers }: { readonly body: unknown; readonly headers: Readonly<Record<string, unknown>> },
  tokenPath: string | undefined,
  nowAt: number,
  readTime: (value: unknown) => number | null,
): SignInAnswer | null {
  const token =
    tokenPath === undefined
      ? (usualToken(body, 0) ?? firstOf(headerNames, (name) => asToken(own(headers, name), 16)))
      : asToken(at(body, tokenPath), 1);
  if (token === null) return null;
  const lifetimeMs = lifetimeIn(body, nowAt, readTime, 0) ?? jwtLifetime(token, nowAt);
  return { token, lifetimeMs: lifetimeMs !== null && lifetimeMs > 0 ? lifetimeMs : null };
}

function usualToken(value: unknown, depth: number): string | null {
  if (!isFields(value)) return depth > 0 ? asToken(value, 16) : null;
  if (depth > 3) return null;
  return (
    firstOf(tokenNames, (name) => asToken(own(value, name), 4)) ??
    firstOf(folders, (name) => usualToken(own(value, name) ?? null, depth + 1))
  );
}

function asToken(value: unknown, shortest: number): string | null {
  if (typeof value !== "string") return null;
  const token = value.trim().replace(/^bearer\s+/i, "");
  return token.length >= shortest && isToken(token) ? token : null;
}

function lifetimeIn(
  body: unknown,
  nowAt: number,
  readTime: (value: unknown) => number | null,
  depth: number,
): number | null {
  if (!isFields(body) || depth > 3) return null;
  const inFolder = (name: string) => lifetimeIn(own(body, name), nowAt, readTime, depth + 1);
  const untilEnd = (name: string) => {
    const endAt = readTime(own(body, name));
    return endAt === null ? null : endAt - nowAt;
  };
  return (
    firstOf(lifetimeNames, (name) => durationMs(own(body, name))) ??
    firstOf(endNames, untilEnd) ??
    firstOf(folders, inFolder)
  );
}

function firstOf<T>(names: readonly string[], find: (name: string) => T | null): T | null {
  for (const name of names) {
    const found = find(name);
    if (found !== null) return found;
  }
  return null;
}

/** Seconds, or ms from 10 million up: no token is valid for 115 days, and an early sign-in does no harm. */
function durationMs(value: unknown): number | null {
  const amount = Number(textOf(value) ?? Number.NaN);
  if (!Number.isFinite(amount) || amount <= 0 || amount > 1e12) return null;
  return amount >= 1e7 ? amount : amount * 1000;
}

/** Lifetime from `exp` of a JSON Web Token, counted from its own `iat` if given, so that our clock may be wrong. */
function jwtLifetime(token: string, nowAt: number): number | null {
  const claims = claimsOf(token);
  const exp = claims === null ? undefined : own(claims, "exp");
  if (claims === null || typeof exp !== "number") return null;
  const iat = own(claims, "iat");
  return exp * 1000 - (typeof iat === "number" ? iat * 1000 : nowAt);
}

function claimsOf(token: string): Fields | null {
  const [, middle, signature] = token.split(".");
  if (middle === undefined || signature === undefined) return null;
  try {
    const claims: unknown = JSON.parse(Buffer.from(middle, "base64url").toString("utf8"));
    return isFields(claims) ? claims : null;
  } catch {
    return null;
  }
}
