import type { IncomingMessage } from "node:http";
import { isIPv6, type Socket } from "node:net";
import { sourceOf } from "../runtime/logins.js";
import { sameSecret } from "../runtime/passwords.js";
import { isLoopback } from "../runtime/sockets.js";
import type { Role } from "../page/protocol.js";
import { type Answer, failure } from "./answer.js";
import type { HttpSection } from "./section.js";

type OfOneBridge = Exclude<HttpSection, false>;

/** `accounts`: of a fleet, those that a user sees; all of them where they are not named. */
export interface Listener extends Omit<OfOneBridge, "users"> {
  readonly users: readonly (OfOneBridge["users"][number] & { readonly accounts?: Accounts })[];
  /** Who the users are cannot be read, so that nobody is one, and nobody looks without being one. */
  readonly isClosed?: boolean;
}

type Accounts = readonly string[] | undefined;

/** What a request or an upgrade shows of itself; where it comes from the socket says, never a header. */
type Asking = Pick<IncomingMessage, "headers"> & {
  readonly socket: Pick<Socket, "remoteAddress" | "localAddress">;
};

/** Who asks. Without a role the data need a login. */
export interface Visitor {
  readonly user: string | null;
  readonly role: Role | null;
  readonly via: string | null;
  /** The key of the session, else the user of ingress, else the address. */
  readonly who: string;
  readonly isIngress?: true;
  /** The user that runs the bridge, at its own socket. */
  readonly isOwner?: true;
  /** The accounts that he sees of a fleet; all where absent. */
  readonly accounts?: Accounts;
  /** A token was shown and it was the wrong one. */
  readonly isWrongToken?: true;
}

/** Who pays for a visitor's places: the user, however often he logged in, else the address. */
export const placeOf = ({ user, via, who }: Visitor): string => (user === null ? who : (via ?? who));

/** Whether the page and its API are served: never where no visitor could be let in. */
export const servesPage = ({ page, host, users, ingress }: Listener): boolean =>
  page ?? (isLoopback(host) || users.length > 0 || ingress.enabled);

/** Whether there are no users to log in as. */
export const isOpen = ({ users, isClosed = false }: Listener): boolean => users.length === 0 && !isClosed;

/** The page's name in its own network. */
export const mdnsName = "greenhouse2mqtt.local";

/** Whether it is announced there: only what other computers reach, and not where it is turned off. */
export const isAnnounced = (listener: Listener): boolean =>
  listener.mdns && servesPage(listener) && !isLoopback(listener.host);

/**
 * The page's address as other machines reach it; undefined where it is not served, for this computer alone, or at every
 * address, of which none says which is the right one.
 */
export function reachableAt(http: Listener | false): string | undefined {
  if (http === false || !servesPage(http) || isLoopback(http.host) || ["0.0.0.0", "::"].includes(http.host))
    return undefined;
  return `http://${isIPv6(http.host) ? `[${http.host}]` : http.host}:${http.port}/`;
}

/** Who a request comes from, or why it is not served at all. */
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
  // An open page alone is no use of a session: it looks, and asks again and again, without anybody before it.
  const isUse = upgrade === undefined && headers["x-unattended"] === undefined;
  return sessions.find(cookie, isUse) ?? (isFree ? { ...stranger, role: "viewer" } : stranger);
}

const foreignHost = (asked: ReturnType<typeof askedHost>): Answer =>
  failure(
    421,
    "foreign_host",
    `This address${asked === null ? "" : ` (${asked.name})`} is not served here. Where it is this page's, name it in http.allowed_hosts.`,
  );

/** A proxy that asks for us under our own name looks as a foreign page does, and says so by its Host. */
function foreignOrigin(origin: string, host: string): Answer {
  const page = URL.canParse(origin) ? new URL(origin).origin : "none";
  const what = `The request comes from the page of another address (Origin ${page}, Host ${host}).`;
  const remedy =
    "A proxy before the bridge has to pass on the header Host as the browser sent it, in nginx: proxy_set_header Host $http_host; docs/page.md has an example.";
  return failure(403, "foreign_origin", `${what} ${remedy}`);
}

/** Whether a browser of this computer asks, by its address and by what it asked for, and no proxy for somebody else. */
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

/** Home Assistant passes the browser's `Host` and `Origin` on, so that only the socket tells that it is Home Assistant. */
function ingressVisitor(headers: Asking["headers"], remote: string, { ingress }: Listener): Visitor | null {
  if (!ingress.enabled || plainAddress(remote) !== plainAddress(ingress.address)) return null;
  const textIn = (header: string): string => String(headers[header] ?? "");
  if (!/^(?=.{2,200}$)(?:\/[A-Za-z0-9_-]+)+\/?$/.test(textIn("x-ingress-path"))) return null;
  // Node reads headers as Latin-1, and names are sent as UTF-8.
  const text = Buffer.from(textIn("x-remote-user-name"), "latin1").toString("utf8");
  const user = text.replace(/\p{C}/gu, "").slice(0, 100) || "home-assistant";
  return { user, role: ingress.role, via: `ingress:${user}`, who: `ingress:${user}`, isIngress: true };
}

const plainAddress = (address: string) => address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, "");

/**
 * A page on the internet that resolves to this address must not get answers, so only known names count, and the address
 * itself, which is no name that could resolve to something else.
 */
function isOwnHost(asked: string, local: string, listener: Listener): boolean {
  const { host: own, allowed_hosts: allowed } = listener;
  const announced = isAnnounced(listener) ? [mdnsName] : [];
  const known = [own, plainAddress(local), "localhost", "127.0.0.1", "::1", ...announced, ...allowed];
  // A zone is for this computer alone.
  const names = known.map((one) => one.replace(/%[^\]]*/, ""));
  return names.some((one) => askedHost(isIPv6(one) ? `[${one}]` : one)?.name === asked);
}

/**
 * What a `Host` header names, as URLs have it: in small letters, IPv6 in its short form, without the port. With it the origins that a
 * page there may have: a proxy may speak https to the browser and http to us, and may name the port that a browser leaves out. Null
 * for what is no host.
 */
function askedHost(header: string): { readonly name: string; readonly origins: readonly string[] } | null {
  const urls = ["http", "https"].map((scheme) => `${scheme}://${header}`);
  if (/[^\p{L}\p{N}.:[\]_-]/u.test(header) || !urls.every((url) => URL.canParse(url))) return null;
  const parsed = urls.map((url) => new URL(url));
  return { name: parsed[0]?.hostname ?? "", origins: parsed.map(({ origin }) => origin) };
}
