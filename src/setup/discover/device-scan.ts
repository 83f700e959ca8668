import type { PlatformReader } from "../../greenhouse/ports.js";
import type { PlannedDevice } from "./plan.js";
import type { Asker, Reply, ScanPorts } from "./scan-context.js";
import type { Answer, Ask, DeviceSurvey, ListedDevice } from "./survey.js";

type DevicePorts = Pick<ScanPorts, "platform" | "progress" | "watcher">;

/**
 * Asks one device what is planned and not known yet. Addresses are flushed from the device itself, so one that is not
 * connected is not asked for them: its single-device status decides, as the list's flag may be minutes old.
 */
export async function scanDevice(
  { device, asks }: PlannedDevice,
  ports: DevicePorts,
  asker: Asker,
): Promise<DeviceSurvey> {
  const { platform, progress, watcher } = ports;
  const answers = new Map<Ask, Answer>();
  const unanswered: { ask: Ask; why: string }[] = [];
  const connection = new ConnectionCheck(device.code, platform, asker);
  const open = asks.filter((ask) => {
    const kept = progress.answer(device.code, ask);
    if (kept !== null) answers.set(ask, kept);
    return kept === null;
  });
  for (const [at, ask] of open.entries()) {
    const reply = await replyTo(ask, device, platform, { asker, connection });
    if (reply === "offline") {
      watcher.spared(open.length - at);
      return { device, answers, unanswered, isOffline: true };
    }
    if (reply.type === "unanswered") unanswered.push({ ask, why: reply.why });
    else {
      const answer = reply.type === "answer" ? reply.answer : reply;
      answers.set(ask, answer);
      progress.add(device.code, ask, answer);
    }
    watcher.asked(device.code);
    await keep(ports);
  }
  return { device, answers, unanswered, isOffline: false };
}

interface DeviceQuestions {
  readonly asker: Asker;
  readonly connection: ConnectionCheck;
}

async function replyTo(
  ask: Ask,
  device: ListedDevice,
  platform: PlatformReader,
  { asker, connection }: DeviceQuestions,
): Promise<Reply<Answer> | "offline"> {
  const isAddress = typeof ask === "number";
  if (isAddress && device.online === false && (await connection.isGone())) return "offline";
  const reply = await asker.ask((signal) => answerTo(ask, device.code, platform, signal));
  // A refusal may be about this type or about the whole device; only the device's status can tell.
  return isAddress && reply.type === "refused" && (await connection.isGone()) ? "offline" : reply;
}

/** Asks for the single-device status at most once. */
class ConnectionCheck {
  readonly #code: string;
  readonly #platform: PlatformReader;
  readonly #asker: Asker;
  #isGone: boolean | null = null;

  constructor(code: string, platform: PlatformReader, asker: Asker) {
    this.#code = code;
    this.#platform = platform;
    this.#asker = asker;
  }

  async isGone(): Promise<boolean> {
    if (this.#isGone !== null) return this.#isGone;
    const reply = await this.#asker.ask((signal) => this.#platform.connection(this.#code, signal));
    this.#isGone = reply.type === "answer" && reply.answer.state === "offline";
    return this.#isGone;
  }
}

async function answerTo(
  ask: Ask,
  code: string,
  platform: PlatformReader,
  signal: AbortSignal,
): Promise<Answer> {
  if (ask === "sensors") return { type: "sensors", items: await platform.sensors(code, signal) };
  if (ask === "statuses") return { type: "statuses", items: await platform.runningStatuses(code, signal) };
  return { type: "values", values: await platform.values(code, ask, signal) };
}

/** A disk that takes nothing costs the resuming, not the scan. */
async function keep({ progress, watcher }: DevicePorts): Promise<void> {
  await progress.saveNowAndThen().catch((error: unknown) => {
    watcher.note(`the progress cannot be kept, an interruption would start over: ${String(error)}`);
  });
}
