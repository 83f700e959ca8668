import { isIPv4, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import { isLoopback } from "../runtime/sockets.js";
import { isAnnounced, type Listener, mdnsName, servesPage } from "./access.js";
import { joined, msg, type Text } from "../language/text.js";
import { unreadableUsers } from "./first-operator.js";
import { may } from "./roles.js";

/* Where a person finds the page, and who may command there: for the log, `doctor` and the demo. */

export interface PageAddress {
  readonly url: string;
  /** Who may command, as a sentence without its full stop. */
  readonly commanders: Text;
}

const everywhere: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** Null where no page is served. `addresses`: those of this computer. */
export function pageAddressFor(
  listener: Listener | false,
  port: number,
  addresses: readonly string[] = ownAddresses(),
): PageAddress | null {
  if (listener === false || !servesPage(listener)) return null;
  return { url: addressOf(listener.host, port, addresses), commanders: commandersOf(listener) };
}

/** The URL of a listener; if it listens at every address, with this computer's first address. */
export function addressOf(listensAt: string, port: number, addresses = ownAddresses()): string {
  const host = everywhere.has(listensAt) ? (addresses[0] ?? "127.0.0.1") : listensAt;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}/`;
}

/** This computer's addresses in its networks; none where a sandbox forbids the question. */
export function ownAddresses(interfaces = networkInterfaces): readonly string[] {
  try {
    return Object.values(interfaces()).flatMap((all = []) =>
      all.flatMap(({ address, internal }) => (!internal && isIPv4(address) ? [address] : [])),
    );
  } catch {
    return [];
  }
}

function commandersOf({ users, ingress, isClosed = false }: Listener): Text {
  if (isClosed) return unreadableUsers;
  const names: Text[] = users.flatMap(({ username, role }) => (may(role, "operator") ? [username] : []));
  if (ingress.enabled && may(ingress.role, "operator")) names.push(msg`the users of Home Assistant`);
  return names.length === 0 ? nobody(users.length === 0) : msg`${joined(names, ", ")} may command there`;
}

const nobody = (isFree: boolean): Text =>
  isFree
    ? msg`nobody may command there until an operator is made, with the code that \`greenhouse2mqtt run\` prints, or named by http.users`
    : msg`nobody may command there until http.users names an operator`;

type Environment = Readonly<Record<string, string | undefined>>;

/** How a person logged in over SSH reaches a page that only this computer serves; null for everybody else. */
export function sshHint(listener: Pick<Listener, "host">, port: number, env: Environment): Text | null {
  const [, , address, sshPort] = (env["SSH_CONNECTION"] ?? "").split(" ");
  if (address === undefined || !isLoopback(listener.host)) return null;
  const at = sshPort === undefined || sshPort === "22" ? "" : `-p ${sshPort} `;
  const host = isIPv6(listener.host) ? `[${listener.host}]` : "127.0.0.1";
  const to = `${env["USER"] ?? "user"}@${address}`;
  return msg`on your own computer:  ssh ${at}-L ${port}:${host}:${port} ${to}  and open http://127.0.0.1:${port}/ there`;
}

/** How whoever sees the terminal becomes the first operator. */
export const firstOperatorLine = (listener: Listener, port: number, code: string): string =>
  `open ${addressOf(listener.host, port)} and make the first operator with the code ${code}`;

/** The page's address as a QR code for a terminal; null where no phone can reach the page. */
export async function qrOf(listener: Listener | false, port: number): Promise<string | null> {
  const pageAddress = pageAddressFor(listener, port);
  if (listener === false || pageAddress === null || isLoopback(listener.host)) return null;
  const { renderUnicodeCompact } = await import("uqr");
  return renderUnicodeCompact(pageAddress.url);
}

/** The same QR code as a data URL, for a browser. */
export async function qrPictureOf(listener: Listener | false, port: number): Promise<string | null> {
  const pageAddress = pageAddressFor(listener, port);
  if (listener === false || pageAddress === null || isLoopback(listener.host)) return null;
  const { renderSVG } = await import("uqr");
  return `data:image/svg+xml;base64,${Buffer.from(renderSVG(pageAddress.url, { border: 2 })).toString("base64")}`;
}

/** Lines to print once the page can be opened. */
export function pageAddressLines(
  listener: Listener | false,
  port: number,
  env: Environment,
): readonly string[] {
  const pageAddress = pageAddressFor(listener, port);
  if (listener === false || pageAddress === null) return [];
  const hint = sshHint(listener, port, env);
  const name = isAnnounced(listener) ? ` (in this network also http://${mdnsName}:${port}/)` : "";
  return [
    `the page is at ${pageAddress.url}${name}; ${String(pageAddress.commanders)}`,
    ...(hint === null ? [] : [String(hint)]),
  ];
}
