import { PlatformError } from "../../greenhouse/platform-error.js";
import type { PlatformPush, PushChannel, PushListener } from "../../greenhouse/push.js";
import type { Clock } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/logger.js";
import type { Random } from "../../runtime/random.js";
import type { Operation } from "../operations.js";
import type { ReadTime } from "../platform-time.js";
import type { Blank, Redact } from "../../runtime/redaction.js";
import type { CredentialSource } from "../session/credential.js";
import type { PlatformSettings } from "../settings.js";
import type { ShapeReport } from "../shape-reports.js";
import { channelOperation } from "./channels.js";
import { newPushTally, type PushCounters } from "./counters.js";
import { frameDecoder, type DecodeFrame } from "./frame-decoder.js";
import { FrameReports } from "./frame-reports.js";
import { PushCredential } from "./push-credential.js";
import { PushLink } from "./push-link.js";
import { usualPush } from "./settings.js";

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
