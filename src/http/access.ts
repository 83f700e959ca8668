import type { IncomingMessage } from "node:http";
import { isIPv6, type Socket } from "node:net";
import { sourceOf } from "../runtime/logins.js";
import { sameSecret } from "../runtime/passwords.js";
import { isLoopback } from "../runtime/sockets.js";
import type { Role } from "../page/protocol.js";
import { type Answer, failure } from "./answer.js";
import type { HttpSection } from "./section.js";

type OfOneBridge = Exclude<HttpSection, false>;

/** `accounts`: the accounts of a fleet that a user sees; all when absent. */
export interface Listener extends Omit<OfOneBridge, "users"> {
  readonly users: readonly (OfOneBridge["users"][number] & { readonly accounts?: Accounts })[];
  /** True if the list of users cannot be read: then nobody can log in, and nobody reads without a login. */
  readonly isClosed?: boolean;
}

type Accounts = readonly string[] | undefined;

/**
 * The parts of a request or upgrade that identify its sender. The address comes from the socket, never from a header.
 */
type Asking = Pick<IncomingMessage, "headers"> & {
  readonly socket: Pick<Socket, "remoteAddress" | "localAddress">;
};

/** The sender of a request. Without a role it must log in to read data. */
export interface Visitor {
  readonly user: string | null;
  readonly role: Role | null;
  readonly via: string | null;
  /** The key of the session, else the user of ingress, else the address. */
  readonly who: string;
  readonly isIngress?: true;
  /** The user who runs the bridge, connected through the socket in the data directory. */
  readonly isOwner?: true;
  /** The fleet accounts that the user sees; all when absent. */
  readonly accounts?: Accounts;
  /** A token was sent, and it was wrong. */
  readonly isWrongToken?: true;
}

/**
 * The key under which a visitor's requests and views are counted: the user, however often he logged in, else the
 * address.
 */
export const placeOf = ({ user, via, who }: Visitor): string => (user === null ? who : (via ?? who));

/** Whether the page and its API are served: as `page` says, else wherever some visitor could be let in. */
export const servesPage = ({ page, host, users, ingress }: Listener): boolean =>
  page ?? (isLoopback(host) || users.length > 0 || ingress.enabled);

/** Whether there are no users to log in as. */
export const isOpen = ({ users, isClosed = false }: Listener): boolean => users.length === 0 && !isClosed;

/** The page's name by multicast DNS. */
export const mdnsName = "greenhouse2mqtt.local";

/** Whether the page's name is announced: only if other computers can reach the page and `mdns` is on. */
export const isAnnounced = (listener: Listener): boolean =>
  listener.mdns && servesPage(listener) && !isLoopback(listener.host);

/**
 * The page's URL for other machines; undefined where it is not served, is for this computer alone, or listens at every
 * address.
 */
export function reachableAt(http: Listener | false): string | undefined {
  if (http === false || !servesPage(http) || isLoopback(http.host) || ["0.0.0.0", "::"].includes(http.host))
    return undefined;
  return `http://${isIPv6(http.host) ? `[${http.host}]` : http.host}:${http.port}/`;
}

/** The visitor behind a request, or the answer that refuses it. */
export function judge(
  { headers, socket }: Asking,
  listener: Listener,
  sessions: { find(cookie: string, isUse: boolean): Visitor | null },
): Visitor | Answer {
  const remote = socket.remoteAddress ?? "";
  const guest = ingressVisitor(headers, remote, listener);
  if (guest !== null) return guest;
  const { origin, host = "", authorization = "", cookie = "", upgrade } = headers;
  const asked = askedHost(host);
  if (asked === null && host !== "")
    return failure(400, "bad_host", "The Host header names no host; IPv6 addresses stand in brackets.");
  if (asked === null || !isOwnHost(asked.name, socket.localAddress ?? "", listener))
    return foreignHost(asked);
  if (origin !== undefined && !(URL.canParse(origin) && asked.origins.includes(new URL(origin).origin)))
    return foreignOrigin(origin, host);
  const stranger = { user: null, role: null, via: null, who: sourceOf(remote) };
  const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (token !== undefined)
    return listener.token !== undefined && sameSecret(token, listener.token)
      ? { ...stranger, role: "viewer", via: "token" }
      : { ...stranger, isWrongToken: true };
  const isFree = isOpen(listener) && isLoopback(listener.host);
  // A page that is merely open polls by itself; that must not prolong the session.
  const isUse = upgrade === undefined && headers["x-unattended"] === undefined;
  return sessions.find(cookie, isUse) ?? (isFree ? { ...stranger, role: "viewer" } : stranger);
}

const foreignHost = (asked: ReturnType<typeof askedHost>): Answer =>
  failure(
    421,
    "foreign_host",
    `This address${asked === null ? "" : ` (${asked.name})`} is not served here. Where it is this page's, name it in http.allowed_hosts.`,
  );

/** A proxy that replaces the Host header makes our own page look foreign; the answer says how to configure it. */
function foreignOrigin(origin: string, host: string): Answer {
  const page = URL.canParse(origin) ? new URL(origin).origin : "none";
  const what = `The request comes from the page of another address (Origin ${page}, Host ${host}).`;
  const remedy =
    "A proxy before the bridge has to pass on the header Host as the browser sent it, in nginx: proxy_set_header Host $http_host; docs/page.md has an example.";
  return failure(403, "foreign_origin", `${what} ${remedy}`);
}

/**
 * Whether a browser on this computer sent the request directly: a loopback address, a loopback `Host`, and no header of
 * a proxy.
 */
export function isOfThisComputer({ headers, socket }: Asking): boolean {
  const asked = askedHost(headers.host ?? "");
  const isPassedOn = ["forwarded", "x-forwarded-for", "x-real-ip", "via"].some((name) => name in headers);
  return (
    isLoopback(plainAddress(socket.remoteAddress ?? "")) &&
    asked !== null &&
    isLoopback(asked.name) &&
    !isPassedOn
  );
}

/** Home Assistant passes on the browser's `Host` and `Origin`, so only the socket's address identifies it. */
function ingressVisitor(headers: Asking["headers"], remote: string, { ingress }: Listener): Visitor | null {
  if (!ingress.enabled || plainAddress(remote) !== plainAddress(ingress.address)) return null;
  const textIn = (header: string): string => String(headers[header] ?? "");
  if (!/^(?=.{2,200}$)(?:\/[A-Za-z0-9_-]+)+\/?$/.test(textIn("x-ingress-path"))) return null;
  // Node decodes headers as Latin-1, but Home Assistant sends names as UTF-8.
  const text = Buffer.from(textIn("x-remote-user-name"), "latin1").toString("utf8");
  const user = text.replace(/\p{C}/gu, "").slice(0, 100) || "home-assistant";
  return { user, role: ingress.role, via: `ingress:${user}`, who: `ingress:${user}`, isIngress: true };
}

const plainAddress = (address: string) => address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, "");

/**
 * Accepts known names and the socket's own address alone. Otherwise a page on the internet could read answers through a
 * name that resolves here (DNS rebinding).
 */
function isOwnHost(asked: string, local: string, listener: Listener): boolean {
  const { host: own, allowed_hosts: allowed } = listener;
  const announced = isAnnounced(listener) ? [mdnsName] : [];
  const known = [own, plainAddress(local), "localhost", "127.0.0.1", "::1", ...announced, ...allowed];
  // IPv6 zones have a meaning on this computer only.
  const names = known.map((one) => one.replace(/%[^\]]*/, ""));
  return names.some((one) => askedHost(isIPv6(one) ? `[${one}]` : one)?.name === asked);
}

/**
 * The host of a `Host` header as URLs write it: lower case, short IPv6, no port; null if it is no host.
 * `origins`: the origins that a page there may have. A proxy may speak https to browsers and http to us, and may name a
 * port that browsers leave out.
 */
function askedHost(header: string): { readonly name: string; readonly origins: readonly string[] } | null {
  const urls = ["http", "https"].map((scheme) => `${scheme}://${header}`);
  if (/[^\p{L}\p{N}.:[\]_-]/u.test(header) || !urls.every((url) => URL.canParse(url))) return null;
  const parsed = urls.map((url) => new URL(url));
  return { name: parsed[0]?.hostname ?? "", origins: parsed.map(({ origin }) => origin) };
}
