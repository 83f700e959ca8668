import {
  PlatformError,
  type PlatformPush,
  type PushChannel,
  type PushListener,
} from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/log.js";
import type { Random } from "../../runtime/random.js";
import type { Blank, Redact } from "../../runtime/redaction.js";
import { oneLine } from "../answer.js";
import { newPushTally, type PushCounters } from "../counters.js";
import { isContainer } from "../decode/wire.js";
import { type Operation, pathCode } from "../operations.js";
import type { CredentialSource } from "../session/credential.js";
import { type PlatformSettings, usualPush } from "../settings.js";
import type { ShapeReport } from "../shape-reports.js";
import type { ReadTime } from "../time.js";
import { type DecodeFrame, frameDecoder } from "./frames.js";
import { PushCredential, PushLink } from "./push-link.js";

/**
 * The channel as an operation of the real-time host, for paths and messages. Throws `invalid_request` for a device code
 * that could lead the path elsewhere.
 */
export function channelOperation(channel: PushChannel): Operation {
  if (channel.type !== "weather-station") return operation(`/ws/${channel.type}`, `ws/${channel.type}`);
  const plain = operation("/ws/sensor-data/weather-station-data", "ws/sensor-data");
  const code = encodeURIComponent(pathCode(channel.code, plain));
  return operation(`${plain.path}/${code}`, plain.name);
}

const operation = (path: string, name: string): Operation => ({
  host: "realtime",
  method: "GET",
  path,
  name,
  label: `WS ${path}`,
  maxAnswerMiB: 1,
});

const maxReports = 60;
const maxNames = 20;
const maxTextLength = 60;

/** Counts what could not be read in pushed frames, keeps a short sample of each kind without its values, and logs it once. */
export class FrameReports {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #redact: Redact;
  readonly #reports = new Map<string, ShapeReport>();

  constructor(log: Logger, clock: Clock, redact: Redact) {
    this.#log = log;
    this.#clock = clock;
    this.#redact = redact;
  }

  list(): readonly ShapeReport[] {
    return [...this.#reports.values()];
  }

  /** `channel` as the configuration names it: `ws/set-value`. */
  add(channel: string, problem: string, found: unknown): void {
    const now = this.#clock.now();
    const key = this.#keyOf(channel, problem, found);
    const known = this.#reports.get(key);
    if (known) {
      this.#reports.set(key, { ...known, count: known.count + 1, lastAt: now });
      return;
    }
    const sample = this.#sampleOf(found);
    this.#reports.set(key, { operation: channel, problem, sample, count: 1, firstAt: now, lastAt: now });
    this.#log.warn(
      { channel, problem, sample },
      `a frame of ${channel} holds something that cannot be read; it is left out. platform.shapes.${channel} can say where things are`,
    );
  }

  /** Frames that differ in their names are shapes of their own; texts, and what comes when the list is full, are not. */
  #keyOf(channel: string, problem: string, found: unknown): string {
    const shape = isContainer(found) ? this.#sampleOf(found) : [];
    const key = JSON.stringify([channel, problem, shape]);
    if (this.#reports.has(key) || this.#reports.size < maxReports) return key;
    return JSON.stringify([channel]);
  }

  #sampleOf(found: unknown): readonly string[] {
    if (typeof found === "string") return [this.#skeleton(found)];
    if (!isContainer(found)) return [];
    if (Array.isArray(found)) return ["(list)"];
    return Object.keys(found)
      .slice(0, maxNames)
      .map((name) => oneLine(this.#redact(name), 40));
  }

  /** The look of a text: every letter of a value is an `x`, every digit a `0`. */
  #skeleton(text: string): string {
    const plain = oneLine(text, maxTextLength);
    return plain.replace(/\p{L}/gu, "x").replace(/\p{N}/gu, "0");
  }
}

export interface PushPorts {
  readonly source: CredentialSource;
  readonly readTime: ReadTime;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly redact: Redact;
  readonly blank: Blank;
}

/** The push channels of the platform. Nothing is opened before the first `listen`. */
export interface PushClient extends PlatformPush {
  pushCounters(): PushCounters;
  frameReports(): readonly ShapeReport[];
}

export function createPush(settings: PlatformSettings, ports: PushPorts): PushClient {
  const { clock, random, log, redact, blank, readTime } = ports;
  const tally = newPushTally();
  const reports = new FrameReports(log, clock, redact);
  const link = {
    ...{ tally, clock, random, log, redact },
    realtimeUrl: settings.realtimeUrl,
    settings: settings.push ?? usualPush,
    credential: new PushCredential(ports.source, clock),
  };
  const listen = async (channel: PushChannel, listener: PushListener, signal: AbortSignal) => {
    const operation = usableChannel(channel, log);
    if (operation === null) return;
    const decode = frameDecoder(channel, settings.shapes);
    const report = (problem: string, found: unknown) => {
      reports.add(operation.name, problem, found);
    };
    const taken = frameTaker(decode, listener, { tally, report, readTime, clock, log });
    const frame = (data: Buffer) => {
      taken(blank(data));
    };
    const unusable = (problem: string) => {
      tally.unreadable += 1;
      report(problem, null);
    };
    const opened = () => {
      listener.opened();
    };
    const lost = () => {
      listener.lost();
    };
    await new PushLink(operation, { opened, lost, unusable, frame }, link).run(signal);
  };
  return { listen, pushCounters: () => ({ ...tally }), frameReports: () => reports.list() };
}

function usableChannel(channel: PushChannel, log: Logger): Operation | null {
  try {
    return channelOperation(channel);
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    log.warn(error.message);
    return null;
  }
}

interface TakerPorts {
  readonly tally: ReturnType<typeof newPushTally>;
  readonly report: (problem: string, found: unknown) => void;
  readonly readTime: ReadTime;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What is done with each frame; an exception must not make the channel deaf. */
function frameTaker(
  decode: DecodeFrame,
  listener: PushListener,
  { tally, report, readTime, clock, log }: TakerPorts,
): (data: Buffer) => void {
  return (data) => {
    tally.frames += 1;
    let problems = 0;
    const counted = (problem: string, found: unknown) => {
      problems += 1;
      report(problem, found);
    };
    try {
      const knows = (code: string) => listener.knows(code);
      const around = { knows, report: counted, readTime, receivedAt: clock.now() };
      for (const news of decode(data, around)) listener.news(news);
    } catch (error) {
      problems += 1;
      log.error({ err: error }, "a pushed frame could not be taken");
    }
    if (problems > 0) tally.unreadable += 1;
  };
}
