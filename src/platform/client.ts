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
import { Names } from "../runtime/names.js";
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

/** What leads out of the process, or to another thread; the real ones where absent. */
export interface PlatformOutside {
  readonly way?: (url: string, settings: PlatformSettings, clock: Clock, places?: Semaphore) => HostWay;
  readonly deriveKey?: typeof deriveKey;
}

export interface PlatformPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Where the signed-in token is kept; used with `sign_in` only. */
  readonly dataDir: string;
  /** Told when a host's link changes; plain success of a healthy link is no change. */
  readonly onLink?: OnLink;
  /** Told when there is another credential than before. */
  readonly onCredential?: () => void;
  /** Told of reads that may have got the answer to another one. */
  readonly onMixedUp?: OnMixedUp;
  readonly files?: Files | undefined;
  readonly outside?: PlatformOutside | undefined;
  /** What other accounts of the process share of the same hosts. */
  readonly shared?: SharedHosts | undefined;
  /** Looks hosts up; one of its own where absent. */
  readonly names?: Names | undefined;
}

/** The platform as the rest of the program uses it. Nothing is opened or read before the first call. */
export interface PlatformClient extends PlatformReader, PlatformWriter, PlatformPush {
  /** After a write was refused (401, 403, or no credential at hand): whether another credential is ready. Never rejects. */
  renewCredential(signal: AbortSignal): Promise<boolean>;
  /** Of polling, which asks it before each request; a read that is repeated takes another of it, one of a command none. */
  readonly budget: RequestBudget;
  link(host: PlatformHost): HostLink;
  /** Ms the platform's clock is ahead of ours, exact to a few seconds; null while no answer told. */
  readonly clockSkewMs: () => number | null;
  counters(): PlatformCounters;
  pushCounters(): PushCounters;
  shapeReports(): readonly ShapeReport[];
  /** Everything that must never be shown, as far as it is known by now. */
  secrets(): readonly string[];
  /** Ends open requests and leaves no timer. */
  close(): Promise<void>;
}

/** A disk that does not answer holds up no end. */
const longestCloseMs = 3_000;

const closeAll = (clock: Clock, all: readonly Promise<void>[]) =>
  cameWithin(clock, longestCloseMs, Promise.all(all));

/** Builds the client; throws only for URLs that are none. */
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

/** Addresses of video streams that lists have shown: each is a credential of its own. */
class StreamAddresses {
  readonly #known = new Set<string>();
  readonly #source: Pick<CredentialSource, "secrets">;

  constructor(source: Pick<CredentialSource, "secrets">) {
    this.#source = source;
  }

  /** With those of the credential. */
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

/** Lists of an account that several of the process are: what one has read, the others need not. */
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
    // The host has just answered this very question.
    return lists.read(key, ask, () => links.settle(host, { type: "answered", signedIn: true }));
  };
  return {
    ...reader,
    controllers: (...asked) => read(operations.controllers, "", () => reader.controllers(...asked)),
    devices: (...asked) => read(operations.devices, asked[0], () => reader.devices(...asked)),
    videos: (signal, code) => read(operations.videoList, code ?? "", () => reader.videos(signal, code)),
  };
}

/** The code of the push channels is loaded when it is first used, which is while the first polls are on their way. */
export const pushCode = lazy(() => import("./push/platform-push.js"));

function lazyPush(settings: PlatformSettings, inside: PlatformInside): PlatformPush {
  const made = lazy(async () => (await pushCode()).createPush(settings, inside));
  return { listen: async (...given) => (await made()).listen(...given) };
}

interface Ways {
  readonly hosts: Readonly<Record<PlatformHost, HostWay>>;
  readonly budget: RequestBudget;
  /** Takes part in nothing any more. */
  readonly leave: () => void;
}

/** The ways to both hosts, and how much polling may go them. */
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
  // Where the host refuses most accounts, all wait.
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

/** The configured source of the token: exactly one of three is there. */
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
