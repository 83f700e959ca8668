import { falseIfFailed, ignored } from "./failures.js";
import { execFile } from "node:child_process";
import { Resolver } from "node:dns";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { cameWithin, type Clock, systemClock } from "./clock.js";

/*
 * Looks up the addresses of hosts. Nothing here uses Node's `dns.lookup`, which waits in the thread pool. All look-ups of the process
 * share two threads there, the C library waits 5 s and more for a name server that is gone, and a process ends only when its threads
 * have ended. So the event loop asks the name servers. Names they do not know are asked of the system by a process that can be ended.
 */

/** A whole look-up; nothing of it counts into the time for a connection. */
const longestMs = 10_000;
/** A name server that has not answered within so long is followed by the next one; each round of all of them is twice as patient. */
const firstTryMs = 500;
const rounds = 4;
/** The system knows more sources than name servers; it is asked where those say no, and where they say nothing for so long. */
const systemAfterMs = 1_500;
/** Of a host with two families so long is waited for the other one once the first has come. */
const otherFamilyMs = 50;
/** Addresses are used for so long without another look-up. */
const freshMs = 30_000;
/** Addresses that neither a look-up nor a connection has shown to be right for so long are no longer used at once. */
const trustedMs = 600_000;
/** Where older addresses are there, so long is waited for newer ones. */
export const patienceMs = 1_000;

/** Where the addresses of a host were found. */
type Origin = "hosts" | "servers" | "system";

/** A first answer, and what came later where one family of addresses was late. */
export interface Answer {
  readonly addresses: readonly string[];
  readonly later?: Promise<readonly string[]>;
}

/** What knows addresses. Rejects with a NameError. */
export interface NameSources {
  /** The text of the file with names of this computer's own, empty without one. */
  hosts(): string;
  servers(name: string, signal: AbortSignal): Promise<Answer>;
  system(name: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Each name server by itself; never rejects. */
  each(name: string, signal: AbortSignal): Promise<readonly ServerFinding[]>;
}

/** A name server, and how long it took to answer about a host; null where it did not. */
export interface ServerFinding {
  readonly server: string;
  readonly tookMs: number | null;
}

/** `ENOTFOUND`: there is no such name; `EAI_AGAIN`: nobody who knows answered. */
export class NameError extends Error {
  override name = "NameError" as const;
  readonly code: "ENOTFOUND" | "EAI_AGAIN";

  constructor(code: NameError["code"], host: string) {
    super(code === "ENOTFOUND" ? `there is no host ${host}` : `no name server answered about ${host}`);
    this.code = code;
  }
}

/** The addresses that are at hand, and those that are being looked up; one of the two is there. */
export interface Found {
  readonly kept: readonly string[];
  /** Never unhandled; rejects with a NameError. */
  readonly newer: Promise<readonly string[]> | null;
}

interface Known {
  addresses: readonly string[];
  /** Monotonic ms; of the newest answer, and of the newest answer or connection. */
  answeredAt: number;
  provenAt: number;
  /** The address that the newest connection was made to. */
  proven: string | null;
  origin: Origin | null;
  asking: Promise<readonly string[]> | null;
}

/** The addresses of an account's or a link's hosts: one look-up at a time for each, and the last good ones kept. */
export class Names {
  readonly #clock: Clock;
  readonly #sources: NameSources;
  readonly #known = new Map<string, Known>();

  constructor(clock: Clock = systemClock, sources: NameSources = systemSources) {
    this.#clock = clock;
    this.#sources = sources;
  }

  /** What may be connected to now. A look-up begins where what is kept is not fresh. */
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

  /** The addresses, for what cannot use those that come later. Rejects with a NameError. */
  async addresses(host: string): Promise<readonly string[]> {
    const { kept, newer } = this.find(host);
    return kept.length > 0 || newer === null ? kept : newer;
  }

  /** A connection to this address of the host came about. */
  connected(host: string, address: string): void {
    const known = this.#known.get(host);
    if (known === undefined) return;
    known.proven = address;
    known.provenAt = this.#clock.monotonic();
  }

  /** The name servers that answer nothing about the host. */
  async silentServers(host: string, signal: AbortSignal): Promise<readonly string[]> {
    const found = await this.#sources.each(host, signal);
    return found.flatMap(({ server, tookMs }) => (tookMs === null ? [server] : []));
  }

  /** Where the newest answer came from; null without one. */
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
    // Whoever has kept addresses need not listen.
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

  /** This computer's own names, the name servers, the system: whoever knows first. */
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
    // Of the network's devices among themselves; no name server is to be asked for it.
    if (isOfLink(host)) return system();
    const servers = this.#sources.servers(host, signal);
    const answer = servers.then((found) => ({ answer: found, origin: "servers" }) as const);
    const isLate = await cameWithin(this.#clock, systemAfterMs, answer).then(
      (came) => !came,
      () => true,
    );
    if (!isLate) return answer;
    return Promise.any([answer, system()]).catch(async () => {
      // What the name servers say is more exact than that the system found nothing.
      await answer;
      throw new NameError("EAI_AGAIN", host);
    });
  }

  /** Addresses that may have changed hands meanwhile are used only where no newer ones come soon. */
  async #orOlder(known: Known, newer: Promise<readonly string[]>): Promise<readonly string[]> {
    const isThere = await cameWithin(this.#clock, patienceMs, newer).catch(falseIfFailed);
    return isThere ? newer : inOrder(known);
  }
}

/** The one that was connected to last comes first, then the families by turns. */
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

/** An address is its own answer, and this computer knows itself. */
function withoutLookUp(host: string): readonly string[] | null {
  if (isIP(host) !== 0) return [host];
  const name = host.toLowerCase().replace(/\.$/, "");
  return name === "localhost" || name.endsWith(".localhost") ? ["::1", "127.0.0.1"] : null;
}

const isOfLink = (host: string): boolean => /\.local\.?$/i.test(host);

/** What a hosts file says about a name. */
export function addressesIn(hosts: string, host: string): readonly string[] {
  const name = host.toLowerCase().replace(/\.$/, "");
  return hosts.split("\n").flatMap((line) => {
    const [address = "", ...names] = (line.split("#")[0] ?? "").trim().split(/\s+/);
    return isIP(address) !== 0 && names.some((one) => one.toLowerCase() === name) ? [address] : [];
  });
}

/** The full names to ask name servers for, in this order, as `resolv.conf` says it. */
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

/** What they say where there is no such name, or none with an address. */
const isNo = (error: NodeJS.ErrnoException): boolean =>
  error.code === "ENOTFOUND" || error.code === "ENODATA";

/** Where this computer says whom to ask. */
interface Whereabouts {
  readonly hosts: string;
  readonly resolvConf: string;
  /** In the place of those that `resolvConf` names. */
  readonly servers?: readonly string[];
}

/** Read each time, as a network that comes up brings its name servers. */
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
      // A cancelled resolver would ask for the next one all the same.
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

/** The addresses of both families as far as they come in time; without any, whether that is certain. */
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

/** As the C library finds it; `getent` is part of that, and where there is none Node does it. */
async function askSystem(host: string, signal: AbortSignal): Promise<readonly string[]> {
  // No name begins so, and an option must not be one.
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

/** What a program wrote, however it ended; null where there is no such program. */
const outputOf = (program: string, words: readonly string[], signal: AbortSignal): Promise<string | null> =>
  new Promise((resolve) => {
    const options = { signal, killSignal: "SIGKILL", timeout: longestMs } as const;
    execFile(program, words, options, (error, out) => resolve(error?.code === "ENOENT" ? null : out));
  });

/** At once: read in the thread pool it would wait for whatever hangs there. */
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

/** How long one server may take in a check. */
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
