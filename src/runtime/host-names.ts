import { falseIfFailed, ignored } from "./failures.js";
import { execFile } from "node:child_process";
import { Resolver } from "node:dns";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { cameWithin, type Clock, systemClock } from "./clock.js";

/*
 * Resolves the addresses of hosts without Node's `dns.lookup`, which waits in the thread pool: all look-ups of the
 * process share two threads there, the C library waits 5 s and more for a dead name server, and a process ends only
 * after its threads. So the event loop asks the name servers, and a process that can be ended asks the system for names
 * that they do not know.
 */

/** Time limit of a whole look-up, separate from that of the connection. */
const longestMs = 10_000;
/** Time for a name server to answer before the next one is asked; it doubles with each round through all of them. */
const firstTryMs = 500;
const rounds = 4;
/** The system knows more sources than name servers. It is asked if those say no, or nothing within this time. */
const systemAfterMs = 1_500;
/** The time to wait for a host's other address family once the first has come. */
const otherFamilyMs = 50;
/** Addresses are used this long without another look-up. */
const freshMs = 30_000;
/** Addresses that no look-up or connection has confirmed for this long are not used at once any more. */
const trustedMs = 600_000;
/** The time to wait for newer addresses while older ones exist. */
export const patienceMs = 1_000;

/** The source of a host's addresses. */
type Origin = "hosts" | "servers" | "system";

/** A first answer; `later` is set if one address family was late. */
export interface Answer {
  readonly addresses: readonly string[];
  readonly later?: Promise<readonly string[]>;
}

/** Sources of addresses. They reject with a NameError. */
export interface NameSources {
  /** The text of the hosts file; empty for none. */
  hosts(): string;
  servers(name: string, signal: AbortSignal): Promise<Answer>;
  system(name: string, signal: AbortSignal): Promise<readonly string[]>;
  /** The finding of each name server; never rejects. */
  each(name: string, signal: AbortSignal): Promise<readonly ServerFinding[]>;
}

/** A name server and how long it took to answer about a host; null if it did not. */
export interface ServerFinding {
  readonly server: string;
  readonly tookMs: number | null;
}

/** `ENOTFOUND`: the name does not exist; `EAI_AGAIN`: no source that could know answered. */
export class NameError extends Error {
  override name = "NameError" as const;
  readonly code: "ENOTFOUND" | "EAI_AGAIN";

  constructor(code: NameError["code"], host: string) {
    super(code === "ENOTFOUND" ? `there is no host ${host}` : `no name server answered about ${host}`);
    this.code = code;
  }
}

/** Known addresses and a running look-up; at least one of them exists. */
export interface Found {
  readonly kept: readonly string[];
  /** May be left unhandled; rejects with a NameError. */
  readonly newer: Promise<readonly string[]> | null;
}

interface Known {
  addresses: readonly string[];
  /** When the newest answer came, and the newest answer or connection, in monotonic ms. */
  answeredAt: number;
  provenAt: number;
  /** The address of the newest connection. */
  proven: string | null;
  origin: Origin | null;
  asking: Promise<readonly string[]> | null;
}

/**
 * The addresses of an account's or link's hosts: one look-up at a time for each, and the last good addresses are kept.
 */
export class Names {
  readonly #clock: Clock;
  readonly #sources: NameSources;
  readonly #known = new Map<string, Known>();

  constructor(clock: Clock = systemClock, sources: NameSources = systemSources) {
    this.#clock = clock;
    this.#sources = sources;
  }

  /** Addresses to connect to now. A look-up begins if the known ones are not fresh. */
  find(host: string): Found {
    const fixed = withoutLookUp(host);
    if (fixed !== null) return { kept: fixed, newer: null };
    const known = this.#of(host);
    const now = this.#clock.monotonic();
    const isFresh = known.addresses.length > 0 && now - known.answeredAt < freshMs;
    if (isFresh) return { kept: inOrder(known), newer: null };
    const newer = this.#asking(host, known);
    const isTrusted = now - Math.max(known.answeredAt, known.provenAt) < trustedMs;
    if (known.addresses.length === 0 || isTrusted) return { kept: inOrder(known), newer };
    return { kept: [], newer: this.#orOlder(known, newer) };
  }

  /** The addresses, for callers that cannot use later ones. Rejects with a NameError. */
  async addresses(host: string): Promise<readonly string[]> {
    const { kept, newer } = this.find(host);
    return kept.length > 0 || newer === null ? kept : newer;
  }

  /** Notes a connection to this address of the host. */
  connected(host: string, address: string): void {
    const known = this.#known.get(host);
    if (known === undefined) return;
    known.proven = address;
    known.provenAt = this.#clock.monotonic();
  }

  /** The name servers that do not answer about the host. */
  async silentServers(host: string, signal: AbortSignal): Promise<readonly string[]> {
    const found = await this.#sources.each(host, signal);
    return found.flatMap(({ server, tookMs }) => (tookMs === null ? [server] : []));
  }

  /** The source of the newest answer; null for none. */
  originOf(host: string): Origin | null {
    return this.#known.get(host)?.origin ?? null;
  }

  #of(host: string): Known {
    const known = this.#known.get(host) ?? {
      addresses: [],
      answeredAt: -Infinity,
      provenAt: -Infinity,
      proven: null,
      origin: null,
      asking: null,
    };
    this.#known.set(host, known);
    return known;
  }

  #asking(host: string, known: Known): Promise<readonly string[]> {
    if (known.asking !== null) return known.asking;
    const asking = this.#ask(host, known).finally(() => (known.asking = null));
    // Callers with known addresses may ignore this look-up.
    asking.catch(ignored);
    known.asking = asking;
    return asking;
  }

  async #ask(host: string, known: Known): Promise<readonly string[]> {
    const over = new AbortController();
    const takeBack = this.#clock.after(longestMs, () => over.abort());
    const note = (addresses: readonly string[], origin: Origin) => {
      Object.assign(known, { addresses, origin, answeredAt: this.#clock.monotonic() });
    };
    try {
      const { answer, origin } = await this.#firstOf(host, over.signal);
      note(answer.addresses, origin);
      answer.later?.then((all) => note(all, origin)).catch(ignored);
      return inOrder(known);
    } finally {
      takeBack();
      over.abort();
    }
  }

  /** Asks this computer's hosts file, the name servers and the system; the first that knows wins. */
  async #firstOf(
    host: string,
    signal: AbortSignal,
  ): Promise<{ readonly answer: Answer; readonly origin: Origin }> {
    const own = addressesIn(this.#sources.hosts(), host);
    if (own.length > 0) return { answer: { addresses: own }, origin: "hosts" };
    const system = async () => {
      const addresses = await this.#sources.system(host, signal);
      return { answer: { addresses }, origin: "system" } as const;
    };
    // A `.local` name belongs to the local network's devices, so no name server is asked.
    if (isOfLink(host)) return system();
    const servers = this.#sources.servers(host, signal);
    const answer = servers.then((found) => ({ answer: found, origin: "servers" }) as const);
    const isLate = await cameWithin(this.#clock, systemAfterMs, answer).then(
      (came) => !came,
      () => true,
    );
    if (!isLate) return answer;
    return Promise.any([answer, system()]).catch(async () => {
      // The name servers' answer is more exact than the system's "not found".
      await answer;
      throw new NameError("EAI_AGAIN", host);
    });
  }

  /** Old addresses may belong to somebody else by now, so they are used only if no newer ones come soon. */
  async #orOlder(known: Known, newer: Promise<readonly string[]>): Promise<readonly string[]> {
    const isThere = await cameWithin(this.#clock, patienceMs, newer).catch(falseIfFailed);
    return isThere ? newer : inOrder(known);
  }
}

/** The address of the last connection first, then both families in turn. */
function inOrder({ addresses, proven }: Known): readonly string[] {
  const isFirst = (address: string) => address === proven;
  const others = addresses.filter((address) => !isFirst(address));
  const family = isIP(others[0] ?? "");
  const [one, other] = [
    others.filter((one) => isIP(one) === family),
    others.filter((one) => isIP(one) !== family),
  ];
  const turns = Array.from({ length: Math.max(one.length, other.length) }, (_, n) => [one[n], other[n]]);
  return [...addresses.filter(isFirst), ...turns.flat().filter((address) => address !== undefined)];
}

/** An address needs no look-up, and neither does this computer. */
function withoutLookUp(host: string): readonly string[] | null {
  if (isIP(host) !== 0) return [host];
  const name = host.toLowerCase().replace(/\.$/, "");
  return name === "localhost" || name.endsWith(".localhost") ? ["::1", "127.0.0.1"] : null;
}

const isOfLink = (host: string): boolean => /\.local\.?$/i.test(host);

/** The addresses of a name in a hosts file. */
export function addressesIn(hosts: string, host: string): readonly string[] {
  const name = host.toLowerCase().replace(/\.$/, "");
  return hosts.split("\n").flatMap((line) => {
    const [address = "", ...names] = (line.split("#")[0] ?? "").trim().split(/\s+/);
    return isIP(address) !== 0 && names.some((one) => one.toLowerCase() === name) ? [address] : [];
  });
}

/** The full names to ask name servers for, in the order that `resolv.conf` demands. */
export function candidatesFor(host: string, resolvConf: string): readonly string[] {
  if (host.endsWith(".")) return [host];
  const words = resolvConf.split("\n").map((line) => line.trim().split(/\s+/));
  const last = words.findLast(([key]) => key === "search" || key === "domain") ?? [];
  const domains = last.slice(1).filter((domain) => domain !== ".");
  const ndots = words
    .flatMap(([key, ...options]) => (key === "options" ? options : []))
    .findLast((option) => option.startsWith("ndots:"));
  const needed = ndots === undefined ? 1 : Number(ndots.slice("ndots:".length));
  const longer = domains.map((domain) => `${host}.${domain}`);
  return host.split(".").length - 1 >= needed ? [host, ...longer] : [...longer, host];
}

/** Whether a name server said that the name, or an address of it, does not exist. */
const isNo = (error: NodeJS.ErrnoException): boolean =>
  error.code === "ENOTFOUND" || error.code === "ENODATA";

/** Paths of this computer's files about names. */
interface Whereabouts {
  readonly hosts: string;
  readonly resolvConf: string;
  /** Used instead of the name servers in `resolvConf`. */
  readonly servers?: readonly string[];
}

/** Reads the files each time, as a network that comes up brings its name servers. */
async function askServers(
  host: string,
  signal: AbortSignal,
  { resolvConf, servers }: Whereabouts,
): Promise<Answer> {
  const resolver = new Resolver({ timeout: firstTryMs, tries: rounds });
  if (servers !== undefined) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  signal.addEventListener("abort", cancel);
  try {
    let isKnownNot = true;
    for (const candidate of candidatesFor(host, textOf(resolvConf))) {
      // A cancelled resolver would still ask for the next name.
      if (signal.aborted) throw new NameError("EAI_AGAIN", host);
      const found = await bothFamilies(resolver, candidate);
      if (typeof found !== "boolean") return found;
      isKnownNot &&= found;
    }
    throw new NameError(isKnownNot ? "ENOTFOUND" : "EAI_AGAIN", host);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

type OneFamily = readonly string[] | NodeJS.ErrnoException;

const isThere = (found: OneFamily): found is readonly string[] => Array.isArray(found);

/** The addresses of both families that come in time. Without any: true if the name certainly has none, else false. */
async function bothFamilies(resolver: Resolver, name: string): Promise<Answer | boolean> {
  const ask = (how: "resolve4" | "resolve6") =>
    new Promise<OneFamily>((resolve) => {
      resolver[how](name, (error, found) => resolve(error ?? found));
    });
  const families = [ask("resolve6"), ask("resolve4")];
  const all = Promise.all(families);
  const found = all.then((each) => each.filter(isThere).flat());
  const first = await Promise.race(families);
  if (isThere(first) && !(await cameWithin(systemClock, otherFamilyMs, all)))
    return { addresses: first, later: found };
  const addresses = await found;
  return addresses.length > 0 ? { addresses } : (await all).every((error) => !isThere(error) && isNo(error));
}

const lookUpOfNode = `require("node:dns").lookup(process.argv[1], { all: true }, (error, found) => {
  for (const { address } of found ?? []) console.log(address);
  process.exitCode = error ? 2 : 0;
})`;

/** Asks the C library with `getent`; if that is missing, a Node process asks. */
async function askSystem(host: string, signal: AbortSignal): Promise<readonly string[]> {
  // No host name begins with a hyphen, and it must not become an option.
  if (host.startsWith("-")) throw new NameError("ENOTFOUND", host);
  const found =
    (await outputOf("getent", ["ahosts", host], signal)) ??
    (await outputOf(process.execPath, ["-e", lookUpOfNode, host], signal)) ??
    "";
  const addresses = found.split("\n").flatMap((line) => {
    const [address = ""] = line.split(/\s/);
    return isIP(address) === 0 ? [] : [address];
  });
  if (addresses.length === 0) throw new NameError(signal.aborted ? "EAI_AGAIN" : "ENOTFOUND", host);
  return [...new Set(addresses)];
}

/** A program's output, however it ended; null if there is no such program. */
const outputOf = (program: string, words: readonly string[], signal: AbortSignal): Promise<string | null> =>
  new Promise((resolve) => {
    const options = { signal, killSignal: "SIGKILL", timeout: longestMs } as const;
    execFile(program, words, options, (error, out) => resolve(error?.code === "ENOENT" ? null : out));
  });

/** Synchronous, as in the thread pool it would wait for whatever hangs there. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

export const sourcesAt = (where: Whereabouts): NameSources => ({
  hosts: () => textOf(where.hosts),
  servers: (host, signal) => askServers(host, signal, where),
  system: askSystem,
  each: (host, signal) => askEach(host, signal, where.servers),
});

const systemSources = sourcesAt({ hosts: "/etc/hosts", resolvConf: "/etc/resolv.conf" });

/** Time limit for each server in a check. */
const serverMs = 3_000;
const silence: ReadonlySet<string | undefined> = new Set(["ETIMEOUT", "ECONNREFUSED", "ECANCELLED"]);

const askEach = (
  host: string,
  signal: AbortSignal,
  servers: readonly string[] = new Resolver().getServers(),
): Promise<readonly ServerFinding[]> =>
  Promise.all(
    servers.map(async (server) => {
      const resolver = new Resolver({ timeout: serverMs, tries: 1 });
      resolver.setServers([server]);
      const cancel = () => resolver.cancel();
      signal.addEventListener("abort", cancel);
      const begunAt = systemClock.monotonic();
      const error = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
        resolver.resolve4(host, resolve);
      });
      signal.removeEventListener("abort", cancel);
      const isSilent = error !== null && silence.has(error.code);
      return { server, tookMs: isSilent ? null : Math.round(systemClock.monotonic() - begunAt) };
    }),
  );
