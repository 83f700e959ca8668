import { type Text } from "../../language/text.js";
import {
  PlatformError,
  type PlatformPush,
  type PushChannel,
  type PushListener,
} from "../../greenhouse/ports.js";
import type { Logger } from "../../runtime/log.js";
import { ReadingTurns } from "../../runtime/paced-reading.js";
import { receiving } from "../../runtime/socket-limits.js";
import type { ReportShape } from "../decode/decoding.js";
import { type Operation, pathCode } from "../operations.js";
import { firstOnes } from "../counters.js";
import type { PlatformInside } from "../inside.js";
import type { PlatformSettings } from "../settings.js";
import { frameDecoder } from "./frames.js";
import { PushCredential, PushLink } from "./push-link.js";

/**
 * The channel as an operation of the real-time host, for paths and messages. Throws `invalid_request` for a device code
 * that could change the path.
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

type Inside = Omit<
  PlatformInside,
  | "files"
  | "hosts"
  | "budget"
  | "refusedCodes"
  | "onMixedUp"
  | "skew"
  | "offset"
  | "redact"
  | "tally"
  | "reports"
>;

/** The platform's push channels. Nothing is opened before the first `listen`. */
export function createPush(settings: PlatformSettings, inside: Inside): PlatformPush {
  const { clock, log, pushTally: tally, frameReports: reports } = inside;
  const credential = new PushCredential(inside.source, clock);
  inside.links.onRenewed(() => credential.renewed());
  const channels = { ...inside, settings, credential, turns: new ReadingTurns(receiving.push, clock) };
  const listen = async (channel: PushChannel, listener: PushListener, signal: AbortSignal) => {
    const operation = usableChannel(channel, log);
    if (operation === null) return;
    const told = { report: reports.of(operation.name), leaveOut: reports.ofLeftOut(operation.name) };
    const events = {
      onOpen: () => listener.onOpen(),
      frame: frameTaker(frameDecoder(channel, settings.shapes), listener, told, inside),
      unusable: (problem: Text) => {
        tally.unreadable += 1;
        told.leaveOut(problem, {});
      },
      onLost: () => listener.onLost(),
      onClosed: (why: Text) => listener.onClosed?.(why),
    };
    await new PushLink(operation, events, channels).run(signal);
  };
  return { listen };
}

/** Makes the handler of each frame; an exception must not stop the channel. */
function frameTaker(
  decode: ReturnType<typeof frameDecoder>,
  listener: PushListener,
  { report, leaveOut }: { readonly report: ReportShape; readonly leaveOut: ReportShape },
  { pushTally: tally, blank, readTime, clock, log }: Inside,
): (data: Buffer, waitedMs: number) => void {
  const knows = (code: string) => listener.knows(code);
  return (data, waitedMs) => {
    tally.frames += 1;
    let problems = 0;
    const counted = (tell: ReportShape): ReportShape =>
      firstOnes((problem, found) => {
        problems += 1;
        tell(problem, found);
      });
    try {
      const greeted = () => listener.greeted?.();
      const receivedAt = Math.round(clock.now() - waitedMs);
      const told = { report: counted(report), leaveOut: counted(leaveOut) };
      const decoding = { knows, greeted, ...told, readTime, receivedAt };
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
