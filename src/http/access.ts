import { createHash, timingSafeEqual } from "node:crypto";
import { isIPv6 } from "node:net";

/** What decides whether a request is served. */
export interface HttpAccess {
  /** Where the server listens: a name of its own. */
  readonly host: string;
  /** Further names a browser may use for this address. */
  readonly allowedHosts: readonly string[];
  /** Asked for everything but the health checks; null where none is configured. */
  readonly token: string | null;
  /** Whether other machines can reach the server; then nothing but health is served without a token. */
  readonly isExposed: boolean;
}

export interface RequestFacts {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly authorization: string | undefined;
}

export interface Refused {
  readonly status: 401 | 403 | 405 | 421;
  readonly text: string;
  /** A token was shown and it was the wrong one. */
  readonly wrongToken?: true;
}

/** What anybody who reaches the server may see. */
const open: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

/** Why a request is not served; null where it is. */
export function refusalOf(request: RequestFacts, access: HttpAccess): Refused | null {
  const host = request.host ?? "";
  if (!isOwnHost(host, access))
    return { status: 421, text: "this address is not served here; see http.allowed_hosts" };
  const { origin, method } = request;
  if (origin !== undefined && origin !== `http://${host}`) return { status: 403, text: "foreign origin" };
  if (method !== "GET" && method !== "HEAD") return { status: 405, text: "only GET" };
  return open.has(request.path) ? null : tokenRefusal(request.authorization, access);
}

function tokenRefusal(authorization: string | undefined, { token, isExposed }: HttpAccess): Refused | null {
  if (token === null)
    return isExposed ? { status: 401, text: "set http.token to see more than the health checks" } : null;
  const shown = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
  if (shown === undefined)
    return { status: 401, text: 'a token is needed: send "Authorization: Bearer <http.token>"' };
  return isSame(shown, token) ? null : { status: 401, text: "wrong token", wrongToken: true };
}

/** Compares digests, so that the time taken tells neither the length nor how much of the token was right. */
function isSame(shown: string, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(shown), digest(token));
}

/** A page on the internet that resolves to this address must not get answers, so only known names count. */
function isOwnHost(host: string, { host: own, allowedHosts }: HttpAccess): boolean {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  return [own, "localhost", "127.0.0.1", "[::1]", ...allowedHosts].some((known) => hostName(known) === name);
}

/** As it stands in a Host header: an IPv6 address is in brackets there, in its short form and without a zone. */
function hostName(known: string): string {
  const bare = known.replace(/^\[(.*)\]$/, "$1").replace(/%.*$/, "");
  return isIPv6(bare) ? new URL(`http://[${bare}]`).hostname : known.toLowerCase();
}
