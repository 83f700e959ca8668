import { shows, type Step } from "../../greenhouse/command/plan.js";
import { travels } from "../../greenhouse/command/travelling.js";
import { PlatformError } from "../../greenhouse/platform-error.js";
import type { RecordBody } from "../../journal/records.js";
import type { RawValue, WriteAccepted } from "../../greenhouse/ports.js";
import type { Command } from "./command.js";
import type { CommandPorts } from "./command-ports.js";
import { confirmStep, type Confirmation, readFresh, waitUntil } from "./read-back.js";

/** How one step ended. */
export type StepEnd =
  | ({ readonly type: "confirmed" } & Evidence)
  | ({ readonly type: "unconfirmed" } & Evidence)
  /** Accepted or ambiguous, and nothing could be read since. */
  | ({ readonly type: "unknown" } & Evidence)
  | ({ readonly type: "rejected"; readonly unauthorized: boolean; readonly message: string } & Evidence)
  | ({ readonly type: "not_sent"; readonly message: string } & Evidence)
  /** Ambiguous, and a valid later read differs. */
  | ({ readonly type: "failed" } & Evidence)
  | ({ readonly type: "interrupted" } & Evidence);

export interface Evidence {
  readonly attempts: number;
  readonly code: string | null;
  readonly requestId: string | null;
  readonly readBack: RawValue | null;
}

type Answer =
  | { readonly type: "accepted"; readonly answer: WriteAccepted }
  | { readonly type: "error"; readonly error: PlatformError };

/** No second POST sooner than this after the first. */
const secondPostMs = 5_000;

/**
 * Sends one step and finds out what became of it. There is at most one second POST: after an ambiguous end or a renewed
 * credential, when a newer read differs, shows no position on its way, and the command is young enough. `onPosted` is
 * told of each begin and end; `quit` gives the confirming up to a newer command.
 */
export async function sendStep(
  command: Command,
  step: Step,
  ports: CommandPorts,
  signals: {
    readonly quit: AbortSignal;
    readonly onPosted: () => void;
    readonly onSettling: (facts: Evidence) => void;
  },
): Promise<StepEnd> {
  const before = registerOf(command, step, ports);
  const first = await post(command, step, 1, ports, signals.onPosted);
  const firstEndedMono = ports.clock.monotonic();
  const facts = factsOf(first, 1);
  if (first.type === "accepted") {
    signals.onSettling(facts);
    return confirmed(
      await confirmStep(command, step, firstEndedMono, ports, signals.quit),
      facts,
      "unconfirmed",
      signals.quit,
    );
  }
  const final = finalError(first.error, facts);
  if (final) return withReadBack(final, command, step, ports, signals.quit);
  if (first.error.facts.kind === "unauthorized" && !(await ports.platform.renewCredential(signals.quit))) {
    return withReadBack(rejected(first.error, facts), command, step, ports, signals.quit);
  }
  // A refused credential means that nothing was taken, so whatever moves was moved by something else.
  const isTaken = (read: RawValue) =>
    first.error.facts.kind !== "unauthorized" && travels(command.settings, step, before, read);
  return afterAmbiguous(command, step, ports, { ...signals, facts, firstEndedMono, isTaken });
}

/** What the mirror holds of the step's address. */
function registerOf(
  { code, targetId }: Command,
  { address }: Step,
  { store }: CommandPorts,
): RawValue | null {
  return store.get(code)?.actuators.get(targetId)?.registers[address]?.raw ?? null;
}

interface AfterFirst {
  readonly quit: AbortSignal;
  readonly onPosted: () => void;
  readonly onSettling: (facts: Evidence) => void;
  readonly facts: Evidence;
  readonly firstEndedMono: number;
  /** Whether a read that does not show the value yet shows all the same that the POST was taken. */
  readonly isTaken: (read: RawValue) => boolean;
}

async function afterAmbiguous(
  command: Command,
  step: Step,
  ports: CommandPorts,
  after: AfterFirst,
): Promise<StepEnd> {
  const { quit, facts, firstEndedMono } = after;
  await waitUntil(firstEndedMono + Math.max(secondPostMs, command.settings.settleMs), ports, quit);
  const read = await readFresh(command, step.address, ports, quit);
  const readBack = read.type === "value" ? read.raw : null;
  if (readBack !== null && shows(command.settings, step, readBack))
    return { type: "confirmed", ...facts, readBack };
  const tooOld = ports.clock.monotonic() > command.deadlineMono;
  if (readBack !== null && after.isTaken(readBack)) return readOn(command, step, ports, after, readBack);
  if (readBack === null || tooOld || quit.aborted) {
    return readOn(command, step, ports, after, readBack);
  }
  const second = await post(command, step, 2, ports, after.onPosted);
  const endedMono = ports.clock.monotonic();
  const both = { ...factsOf(second, 2), readBack };
  if (second.type === "error") {
    const final =
      finalError(second.error, both) ??
      (second.error.facts.kind === "unauthorized" ? rejected(second.error, both) : null);
    if (final && final.type !== "not_sent") return withReadBack(final, command, step, ports, quit);
  }
  after.onSettling(both);
  const otherwise = second.type === "accepted" ? "unconfirmed" : "failed";
  return confirmed(await confirmStep(command, step, endedMono, ports, quit), both, otherwise, quit);
}

/** No second POST: whatever the first did is read back until it shows or its time is over. */
async function readOn(
  command: Command,
  step: Step,
  ports: CommandPorts,
  { quit, facts, firstEndedMono, onSettling }: AfterFirst,
  readBack: RawValue | null,
): Promise<StepEnd> {
  onSettling(facts);
  const seen = await confirmStep(command, step, firstEndedMono, ports, quit);
  // That read was later than the POST too: it tells what happened when nothing can be read any more.
  return confirmed({ ...seen, lastRead: seen.lastRead ?? readBack }, facts, "failed", quit);
}

async function post(
  command: Command,
  step: Step,
  attempt: number,
  ports: CommandPorts,
  onPosted: () => void,
): Promise<Answer> {
  const about = {
    controller: command.code,
    actuator: command.targetId,
    target: command.target,
    id: command.id,
  };
  onPosted();
  const answering = write(command, step, ports);
  // Not waited for: the command itself is on disk already, and a restart reads back whatever may have been sent.
  void noted(ports, {
    type: "step_sent",
    ...about,
    purpose: step.purpose,
    address: step.address,
    value: step.value,
    attempt,
  });
  const answer = await answering;
  onPosted();
  const facts = answer.type === "accepted" ? null : answer.error.facts;
  void noted(ports, {
    type: "step_answered",
    ...about,
    address: step.address,
    attempt,
    code: answer.type === "accepted" ? answer.answer.code : (facts?.code ?? null),
    request_id: answer.type === "accepted" ? answer.answer.requestId : (facts?.requestId ?? null),
    error: answer.type === "accepted" ? null : answer.error.message,
    sent: facts?.sent ?? true,
  });
  return answer;
}

// A POST is never aborted: what it did would be unknown. Its own deadline ends it.
const untilItEnds = new AbortController().signal;

async function write(command: Command, step: Step, { platform }: CommandPorts): Promise<Answer> {
  try {
    return {
      type: "accepted",
      answer: await platform.write(command.code, step.address, step.value, untilItEnds, {
        stops: step.purpose === "stop",
      }),
    };
  } catch (error) {
    if (error instanceof PlatformError) return { type: "error", error };
    throw error;
  }
}

async function noted(ports: CommandPorts, record: RecordBody): Promise<void> {
  await ports.journal.append(record, { durable: false }).catch((error: unknown) => {
    ports.log.error({ reason: String(error) }, "the journal could not take a record of a command under way");
  });
}

function factsOf(answer: Answer, attempts: number): Evidence {
  if (answer.type === "accepted") {
    return { attempts, code: answer.answer.code, requestId: answer.answer.requestId, readBack: null };
  }
  const { code, requestId } = answer.error.facts;
  return { attempts, code: code ?? null, requestId: requestId ?? null, readBack: null };
}

/** Ends that need no second look: the platform said no, or nothing ever left. */
function finalError(error: PlatformError, facts: Evidence): StepEnd | null {
  const { kind, sent, code } = error.facts;
  // Also without a credential at hand: a renewed one is the one retry.
  if (kind === "unauthorized") return null;
  if (!sent) return { type: "not_sent", message: error.message, ...facts };
  return code !== undefined ? rejected(error, facts) : null;
}

const rejected = (error: PlatformError, facts: Evidence): StepEnd => ({
  type: "rejected",
  unauthorized: error.facts.kind === "unauthorized",
  message: error.message,
  ...facts,
});

/** A rejection is told together with one read of what the register holds now. */
async function withReadBack(
  end: StepEnd,
  command: Command,
  step: Step,
  ports: CommandPorts,
  quit: AbortSignal,
): Promise<StepEnd> {
  if (end.type !== "rejected") return end;
  const read = await readFresh(command, step.address, ports, quit);
  return { ...end, readBack: read.type === "value" ? read.raw : null };
}

function confirmed(
  seen: Confirmation,
  facts: Evidence,
  otherwise: "unconfirmed" | "failed",
  quit: AbortSignal,
): StepEnd {
  const evidence = { ...facts, readBack: seen.lastRead };
  if (seen.shown) return { type: "confirmed", ...evidence };
  if (quit.aborted) return { type: "interrupted", ...evidence };
  return { type: seen.lastRead === null ? "unknown" : otherwise, ...evidence };
}
