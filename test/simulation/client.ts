import { Authorized } from "../../src/platform/authorized.js";
import { Caller } from "../../src/platform/caller.js";
import type { PlatformClient } from "../../src/platform/client.js";
import { ClockSkew } from "../../src/platform/clock-skew.js";
import { newTally } from "../../src/platform/counters.js";
import { readSignIn } from "../../src/platform/decode/sign-in.js";
import { nodeFiles } from "../../src/platform/files.js";
import { LinkBook, type OnLink } from "../../src/platform/link.js";
import { operations, type Operation } from "../../src/platform/operations.js";
import { timeReader } from "../../src/platform/platform-time.js";
import { Reader } from "../../src/platform/reader.js";
import { plainHeaders } from "../../src/platform/session/credential.js";
import { SessionStore, type SavedSession } from "../../src/platform/session/session-store.js";
import { noHistory } from "../../src/platform/session/sign-in-backoff.js";
import { SignIn } from "../../src/platform/session/sign-in.js";
import type { PlatformSettings } from "../../src/platform/settings.js";
import { ShapeReports } from "../../src/platform/shape-reports.js";
import { Writer } from "../../src/platform/writer.js";
import { zoneOffset } from "../../src/platform/zone-offset.js";
import { silentLog } from "../support/builders.js";
import type { Chance } from "./chance.js";
import type { BootClock } from "./time.js";
import { SimulatedHost, type Wire } from "./wire.js";

/** The session file of the data directory, without the hash that would take real time. */
export class SessionMemory extends SessionStore {
  #saved: SavedSession = { token: null, history: noHistory };

  constructor() {
    super("/nowhere", "account", nodeFiles, silentLog);
  }

  override load(): Promise<SavedSession> {
    return Promise.resolve(this.#saved);
  }

  override save(session: SavedSession): Promise<void> {
    this.#saved = session;
    return Promise.resolve();
  }
}

export interface ClientParts {
  readonly settings: PlatformSettings;
  readonly clock: BootClock;
  readonly wire: Wire;
  readonly chance: Chance;
  readonly sessions: SessionMemory;
  readonly onLink: OnLink;
}

const offsets = new Map<string, ReturnType<typeof zoneOffset>>();

/** The product's platform client, built as it builds itself, on connections of the simulated world. */
export function simulatedClient(parts: ClientParts): PlatformClient {
  const { settings, clock, wire, chance, sessions, onLink } = parts;
  const { timeouts, concurrency, shapes } = settings;
  const host = (name: "business" | "realtime", url: string) =>
    new SimulatedHost(name, { url, timeouts, concurrency }, clock, wire);
  const hosts = { business: host("business", settings.businessUrl), realtime: host("realtime", settings.realtimeUrl) };
  const link = new LinkBook(clock, onLink);
  const [tally, skew, reports] = [newTally(), new ClockSkew(clock), new ShapeReports(silentLog, clock)];
  const offset = offsets.get(settings.timeZone) ?? zoneOffset(settings.timeZone);
  offsets.set(settings.timeZone, offset);
  const readTime = timeReader(offset);
  const redact = (text: string) => text;
  const credentialKey = "platform.sign_in";
  const { random } = chance;
  const caller = new Caller({ hosts, link, skew, clock, random, tally, credentialKey, redact });
  const source = signInWith(parts, { caller, link, skew, readTime });
  const authorized = new Authorized(caller, source);
  const scene = (operation: Operation) => ({ operation, url: hosts[operation.host].url, redact });
  const share = () => undefined;
  const reader = new Reader({ authorized, reports, readTime, clock, scene, share }, shapes);
  const writer = new Writer({ authorized, reports, scene, tally, share });
  return {
    controllers: (signal) => reader.controllers(signal),
    devices: (dataType, signal) => reader.devices(dataType, signal),
    stations: (signal) => reader.stations(signal),
    connection: (code, signal) => reader.connection(code, signal),
    sensors: (code, signal) => reader.sensors(code, signal),
    runningStatuses: (code, signal) => reader.runningStatuses(code, signal),
    value: (code, address, fresh, signal) => reader.value(code, address, fresh, signal),
    values: (code, group, signal) => reader.values(code, group, signal),
    get: (operation, query, signal) => reader.get(operation, query, signal),
    write: (code, address, value, signal) => writer.write(code, address, value, signal),
    renewCredential: (signal) => authorized.renewForWrite(signal),
    link: (name) => link.link(name),
    lastContact: (name) => link.link(name).contactAt,
    clockSkewMs: () => skew.skewMs(),
    counters: () => ({ ...tally }),
    shapeReports: () => reports.list(),
    close: () => Promise.resolve(),
  };

  function signInWith(
    { sessions: store }: Pick<ClientParts, "sessions">,
    around: Pick<ConstructorParameters<typeof Caller>[0], "link" | "skew"> & {
      readonly caller: Caller;
      readonly readTime: ReturnType<typeof timeReader>;
    },
  ): SignIn {
    const body = settings.credential.type === "sign_in" ? settings.credential.body : {};
    const operation = operations.signIn;
    const call = { operation, path: operation.path, body: JSON.stringify(body), urgent: false, patient: true };
    return new SignIn(body, {
      store,
      clock,
      log: silentLog,
      post: async (signal) => {
        const sent = [...plainHeaders, "content-type", "application/json"];
        const { body: answer } = await around.caller.once({ ...call, signal }, sent);
        const platformNow = clock.now() + (around.skew.skewMs() ?? 0);
        return readSignIn(answer, undefined, platformNow, (value) => around.readTime(value, platformNow));
      },
      onRenewed: () => {
        around.link.credentialRenewed();
      },
      onRefused: () => {
        around.link.signInRefused();
      },
    });
  }
  void sessions;
}
