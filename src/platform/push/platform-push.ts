import { type Text } from "../../language/text.js";
import {
  PlatformError,
  type PlatformPush,
  type PushChannel,
  type PushListener,
} from "../../greenhouse/ports.js";
import type { Clock, Random } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/log.js";
import type { Names } from "../../runtime/names.js";
import { ReadingTurns } from "../../runtime/paced-reading.js";
import { receiving } from "../../runtime/receiving.js";
import type { Redact } from "../../runtime/redaction.js";
import type { PushTally, ShapeReports } from "../counters.js";
import type { ReportShape } from "../decode/decoding.js";
import { type Operation, pathCode } from "../operations.js";
import type { HostLinks } from "../links.js";
import type { CredentialSource, Blank } from "../session/credential.js";
import type { PlatformSettings } from "../settings.js";
import type { ReadTime } from "../time.js";
import { frameDecoder } from "./frames.js";
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
  isExtra: false,
});

export interface PushParts {
  readonly source: CredentialSource;
  readonly links: Pick<HostLinks, "onRenewed">;
  readonly readTime: ReadTime;
  readonly clock: Clock;
  readonly names: Names;
  readonly random: Random;
  readonly log: Logger;
  readonly redact: Redact;
  readonly blank: Blank;
  readonly tally: PushTally;
  readonly reports: ShapeReports;
}

/** The push channels of the platform. Nothing is opened before the first `listen`. */
export function createPush(settings: PlatformSettings, parts: PushParts): PlatformPush {
  const { clock, log, tally, reports } = parts;
  const { realtime_url: realtimeUrl, push, shapes } = settings;
  const credential = new PushCredential(parts.source, clock);
  parts.links.onRenewed(() => credential.renewed());
  const turns = new ReadingTurns(receiving.push, clock);
  const listen = async (channel: PushChannel, listener: PushListener, signal: AbortSignal) => {
    const operation = usableChannel(channel, log);
    if (operation === null) return;
    const report = reports.of(operation.name);
    const events = {
      onOpen: () => listener.onOpen(),
      frame: frameTaker(frameDecoder(channel, shapes), listener, report, parts),
      unusable: (problem: Text) => {
        tally.unreadable += 1;
        report(problem, {});
      },
      onLost: () => listener.onLost(),
      onClosed: (why: Text) => listener.onClosed?.(why),
    };
    const link = new PushLink(operation, events, {
      ...parts,
      turns,
      realtimeUrl,
      connectMs: settings.timeouts.connect,
      settings: push,
      credential,
    });
    await link.run(signal);
  };
  return { listen };
}

/** What is done with each frame; an exception must not make the channel deaf. */
function frameTaker(
  decode: ReturnType<typeof frameDecoder>,
  listener: PushListener,
  report: ReportShape,
  { tally, blank, readTime, clock, log }: PushParts,
): (data: Buffer) => void {
  const knows = (code: string) => listener.knows(code);
  return (data) => {
    tally.frames += 1;
    let problems = 0;
    const countAndReport: ReportShape = (problem, found) => {
      problems += 1;
      report(problem, found);
    };
    try {
      const greeted = () => listener.greeted?.();
      const decoding = { knows, greeted, report: countAndReport, readTime, receivedAt: clock.now() };
      for (const news of decode(blank(data), decoding)) listener.news(news);
    } catch (error) {
      problems += 1;
      log.error({ err: error }, "a pushed frame could not be taken");
    }
    if (problems > 0) tally.unreadable += 1;
  };
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
