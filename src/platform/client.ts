import { lazy } from "../runtime/lazy.js";
import type {
  DeviceList,
  PlatformHost,
  PlatformPush,
  PlatformReader,
  PlatformWriter,
} from "../greenhouse/ports.js";
import { cameWithin, type Clock, type Random } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { linesWithoutSecrets, withoutSecrets } from "../runtime/redaction.js";
import {
  newPushTally,
  newTally,
  type PlatformCounters,
  type PushCounters,
  type ShapeReport,
  ShapeReports,
  type Tally,
} from "./counters.js";
import { readSignIn, type SignInAnswer } from "./decode/sign-in.js";
import { type Files, nodeFiles } from "../runtime/file-system.js";
import { Names } from "../runtime/host-names.js";
import { HostConnections, type HostWay } from "./http.js";
import { type HostLink, HostLinks, type OnLink } from "./links.js";
import { type Operation, operations } from "./operations.js";
import type { OnMixedUp, PlatformInside } from "./inside.js";
import { platformReader, platformWriter } from "./calls.js";
import { Requests } from "./requests.js";
import { RequestBudget, type Semaphore } from "../runtime/schedule.js";
import { type CredentialSource, blanker } from "./session/credential.js";
import { staticToken, TokenFile } from "./session/token-file.js";
import { deriveKey, SessionStore } from "./session/session-store.js";
import { SignIn } from "./session/sign-in.js";
import { JointBudget, JointPlaces, type SharedHosts, type SharedLists } from "./shared.js";
import type { PlatformSettings, ShapeSettings } from "./settings.js";
import { ClockSkew, type ReadTime, timeReader } from "./time.js";
import { zoneOffset } from "../runtime/zone.js";

/** Replaces connections and key derivation; by default the real ones. */
export interface PlatformOutside {
  readonly way?: (url: string, settings: PlatformSettings, clock: Clock, places?: Semaphore) => HostWay;
  readonly deriveKey?: typeof deriveKey;
}

export interface PlatformPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Where the signed-in token is kept; only used with `sign_in`. */
  readonly dataDir: string;
  /** Called when a host's link changes; a further success of a healthy link is no change. */
  readonly onLink?: OnLink;
  /** Called when there is a new credential. */
  readonly onCredential?: () => void;
  /** Called with reads that may have received another one's answer. */
  readonly onMixedUp?: OnMixedUp;
  readonly files?: Files | undefined;
  readonly outside?: PlatformOutside | undefined;
  /** What the accounts of this process share for each host. */
  readonly shared?: SharedHosts | undefined;
  /** Resolves host names; by default an instance of its own. */
  readonly names?: Names | undefined;
}

/** The platform for the rest of the program. Nothing is opened or read before the first call. */
export interface PlatformClient extends PlatformReader, PlatformWriter, PlatformPush {
  /**
   * After a refused write (401, 403, or no credential at hand): resolves to whether another credential is ready. Never
   * rejects.
   */
  renewCredential(signal: AbortSignal): Promise<boolean>;
  /**
   * The budget of polling, which asks it before each request. A repeated poll takes from it again, a command's read
   * never.
   */
  readonly budget: RequestBudget;
  link(host: PlatformHost): HostLink;
  /** How far the platform's clock is ahead, in ms, exact to a few seconds; null before the first answer with a date. */
  readonly clockSkewMs: () => number | null;
  counters(): PlatformCounters;
  pushCounters(): PushCounters;
  shapeReports(): readonly ShapeReport[];
  /** All known secrets, which must never be shown. */
  secrets(): readonly string[];
  /** Ends open requests and timers. */
  close(): Promise<void>;
}

/** A disk that does not answer must not delay the end. */
const longestCloseMs = 3_000;

const closeAll = (clock: Clock, all: readonly Promise<void>[]) =>
  cameWithin(clock, longestCloseMs, Promise.all(all));

/** Makes the client; throws only for invalid URLs. */
export function createPlatform(settings: PlatformSettings, ports: PlatformPorts): PlatformClient {
  const { clock, random, log, files = nodeFiles, onLink = () => undefined, onMixedUp } = ports;
  const tally = newTally();
  const links = new HostLinks(clock, onLink);
  if (ports.onCredential !== undefined) links.onRenewed(ports.onCredential);
  const offset = zoneOffset(settings.time_zone);
  const signIn: PostSignIn = async (body, tokenPath, signal) => {
    const answer = await requests.signIn(body, signal);
    return tokenIn(answer, tokenPath, { ...inside, nowAt: clock.now() + (inside.skew.skewMs() ?? 0) });
  };
  const source = credentialSource(settings, { ...ports, files }, { links, tally, signIn });
  const streams = new StreamAddresses(source);
  const redact = withoutSecrets(streams.secrets);
  const names = ports.names ?? ports.shared?.names ?? new Names(clock);
  const { budget, hosts, leave } = waysTo(settings, { ...ports, names }, links);
  const inside: PlatformInside = {
    ...{ clock, random, log, files, names, hosts, links, budget, source, onMixedUp },
    ...{ skew: new ClockSkew(clock), readTime: timeReader(offset), offset },
    ...{ redact, redactLine: linesWithoutSecrets(streams.secrets), blank: blanker(source) },
    ...{ tally, pushTally: newPushTally(), refusedCodes: new Set(settings.sign_in?.refused_codes) },
    reports: new ShapeReports("answer", log, clock, redact),
    frameReports: new ShapeReports("frame", log, clock, redact),
  };
  const requests = new Requests(inside);
  const reader = platformReader(settings.shapes, { ...inside, requests });
  return {
    ...remembering(sharing(reader, settings, { lists: ports.shared?.lists, source, links }), streams),
    ...platformWriter({ ...inside, requests }),
    ...lazyPush(settings, inside),
    renewCredential: (signal) => requests.renewForWrite(signal),
    budget,
    link: (host) => links.link(host),
    clockSkewMs: inside.skew.skewMs,
    counters: () => ({ ...tally }),
    pushCounters: () => ({ ...inside.pushTally }),
    shapeReports: () => [...inside.reports.list(), ...inside.frameReports.list()],
    secrets: streams.secrets,
    close: () => closeAll(clock, [requests.close(), source.close()]).then(leave),
  };
}

interface SignInReading {
  /** Epoch ms. */
  readonly nowAt: number;
  readonly readTime: ReadTime;
  readonly reports: ShapeReports;
}

function tokenIn(
  { body, headers }: Parameters<typeof readSignIn>[0],
  tokenPath: string | undefined,
  { nowAt, readTime, reports }: SignInReading,
) {
  const found = readSignIn({ body, headers }, tokenPath, nowAt, (value) => readTime(value, nowAt));
  if (found === null) reports.of(operations.signIn.name)("a sign-in answer without a token", body);
  return found;
}

const mostStreams = 2_000;

/** Addresses of video streams from lists; each is a credential of its own. */
class StreamAddresses {
  readonly #known = new Set<string>();
  readonly #source: Pick<CredentialSource, "secrets">;

  constructor(source: Pick<CredentialSource, "secrets">) {
    this.#source = source;
  }

  /** These addresses and the secrets of the credential. */
  readonly secrets = (): readonly string[] => [...this.#source.secrets(), ...this.#known];

  add(records: DeviceList): DeviceList {
    for (const { hls } of records)
      if (hls !== null && hls.length >= 8 && this.#known.size < mostStreams) this.#known.add(hls);
    return records;
  }
}

const remembering = (reader: PlatformReader, streams: StreamAddresses): PlatformReader => ({
  ...reader,
  controllers: async (...asked) => streams.add(await reader.controllers(...asked)),
  devices: async (...asked) => streams.add(await reader.devices(...asked)),
  videos: async (...asked) => streams.add(await reader.videos(...asked)),
});

interface Sharing {
  readonly lists: SharedLists | undefined;
  readonly source: Pick<CredentialSource, "current">;
  readonly links: HostLinks;
}

/** Shares lists between accounts of the process: what one has read, others need not read again. */
function sharing(
  reader: PlatformReader,
  settings: PlatformSettings,
  { lists, source, links }: Sharing,
): PlatformReader {
  if (lists === undefined) return reader;
  const read = ({ host, name }: Operation, what: string, ask: () => Promise<DeviceList>) => {
    const token = source.current()?.token ?? "";
    if (token === "") return ask();
    const url = host === "business" ? settings.business_url : settings.realtime_url;
    const key = JSON.stringify([url, name, what, token, settings.time_zone, settings.shapes]);
    // Another account has just received this very answer, so the link counts as working.
    return lists.read(key, ask, () => links.settle(host, { type: "answered", signedIn: true }));
  };
  return {
    ...reader,
    controllers: (...asked) => read(operations.controllers, "", () => reader.controllers(...asked)),
    devices: (...asked) => read(operations.devices, asked[0], () => reader.devices(...asked)),
    videos: (signal, code) => read(operations.videoList, code ?? "", () => reader.videos(signal, code)),
  };
}

/** The code of the push channels, loaded at its first use, while the first polls run. */
export const pushCode = lazy(() => import("./push/platform-push.js"));

function lazyPush(settings: PlatformSettings, inside: PlatformInside): PlatformPush {
  const made = lazy(async () => (await pushCode()).createPush(settings, inside));
  return { listen: async (...given) => (await made()).listen(...given) };
}

interface Ways {
  readonly hosts: Readonly<Record<PlatformHost, HostWay>>;
  readonly budget: RequestBudget;
  /** Removes the account from everything shared. */
  readonly leave: () => void;
}

/** The connections to both hosts, and the budget of polling. */
function waysTo(
  settings: PlatformSettings,
  ports: PlatformPorts & { readonly names: Names },
  links: HostLinks,
): Ways {
  const { clock, shared, names } = ports;
  const way: PlatformOutside["way"] =
    ports.outside?.way ??
    ((url, given, clock, places) => new HostConnections(url, given, { clock, names }, places));
  const { requests_per_minute: perMinute, concurrency } = settings;
  const urls = { business: settings.business_url, realtime: settings.realtime_url };
  if (shared === undefined) {
    const to = (url: string) => way(url, settings, clock);
    const hosts = { business: to(urls.business), realtime: to(urls.realtime) };
    return { hosts, budget: new RequestBudget(perMinute), leave: () => undefined };
  }
  const join = (host: PlatformHost) => {
    const common = shared.at(urls[host]);
    const hold = (ms: number) => links.hold(host, ms);
    const places = new JointPlaces(concurrency, common.places);
    const connections = way(urls[host], settings, clock, places);
    return { common, hold, connections, leave: common.join(hold) };
  };
  const joined = { business: join("business"), realtime: join("realtime") };
  // If a host refuses most accounts, all of them wait.
  links.onReadAnswered((host, waitMs) => joined[host].common.onAnswer(joined[host].hold, waitMs));
  return {
    hosts: { business: joined.business.connections, realtime: joined.realtime.connections },
    budget: new JointBudget(perMinute, joined.realtime.common.budget),
    leave: () => {
      joined.business.leave();
      joined.realtime.leave();
    },
  };
}

type PostSignIn = (
  body: unknown,
  tokenPath: string | undefined,
  signal: AbortSignal,
) => Promise<SignInAnswer | null>;

/** The configured source of the token: exactly one of three. */
function credentialSource(
  { token, token_file: path, sign_in: signingIn, business_url: businessUrl, ...given }: PlatformSettings,
  { files, dataDir, clock, log, outside }: PlatformPorts & Pick<PlatformInside, "files">,
  { links, tally, signIn }: { links: HostLinks; tally: Tally; signIn: PostSignIn },
): CredentialSource {
  const shapes: ShapeSettings = given.shapes;
  if (token !== undefined) return staticToken(token);
  if (path !== undefined) return new TokenFile(path, { files, clock, log, links });
  const { body = {}, token_path: tokenPath = shapes[operations.signIn.name]?.value } = signingIn ?? {};
  const account = JSON.stringify([businessUrl, body]);
  const store = new SessionStore(dataDir, account, outside?.deriveKey ?? deriveKey, { files, clock, log });
  const post = (signal: AbortSignal) => signIn(body, tokenPath, signal);
  return new SignIn(body, post, store, { clock, log, links, tally });
}
