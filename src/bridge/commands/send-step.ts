import { shows, type Step } from "../../greenhouse/command/plan.js";
import { travels } from "../../greenhouse/command/travelling.js";
import type { PlatformError } from "../../greenhouse/platform-error.js";
import type { RawValue } from "../../greenhouse/ports.js";
import type { Command } from "./command.js";
import type { CommandPorts } from "./command-ports.js";
import { factsOf, post, type PostMoment } from "./post-step.js";
import { confirmStep, readFresh, waitUntil } from "./read-back.js";
import { confirmed, type Evidence, finalError, rejected, type StepEnd, withReadBack } from "./step-end.js";

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
    readonly onPosted: (moment: PostMoment) => void;
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
  if (first.error.facts.kind === "unauthorized")
    return afterRefusedCredential(command, step, ports, {
      ...signals,
      ...{ facts, firstEndedMono, error: first.error },
    });
  const isTaken = (read: RawValue) => travels(command.settings, step, before, read);
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
  readonly onPosted: (moment: PostMoment) => void;
  readonly onSettling: (facts: Evidence) => void;
  readonly facts: Evidence;
  readonly firstEndedMono: number;
}

interface AfterAmbiguous extends AfterFirst {
  /** Whether a read that does not show the value yet shows all the same that the POST was taken. */
  readonly isTaken: (read: RawValue) => boolean;
}

async function afterAmbiguous(
  command: Command,
  step: Step,
  ports: CommandPorts,
  after: AfterAmbiguous,
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
  return postAgain(command, step, ports, after, readBack);
}

/** `ifUnsent` is the end should this POST never leave; null when the first may have been taken all the same. */
async function postAgain(
  command: Command,
  step: Step,
  ports: CommandPorts,
  { quit, onPosted, onSettling }: AfterFirst,
  readBack: RawValue | null,
  ifUnsent: StepEnd | null = null,
): Promise<StepEnd> {
  const second = await post(command, step, 2, ports, onPosted);
  const endedMono = ports.clock.monotonic();
  const both = { ...factsOf(second, 2), readBack };
  if (second.type === "error") {
    const { error } = second;
    if (ifUnsent !== null && !error.facts.sent) return { ...ifUnsent, attempts: 2 };
    const final =
      finalError(error, both) ?? (error.facts.kind === "unauthorized" ? rejected(error, both) : null);
    if (final && final.type !== "not_sent") return withReadBack(final, command, step, ports, quit);
  }
  onSettling(both);
  const otherwise = second.type === "accepted" ? "unconfirmed" : "failed";
  return confirmed(await confirmStep(command, step, endedMono, ports, quit), both, otherwise, quit);
}

/**
 * The platform refused the credential, or there was none to send with: nothing was taken, so whatever shows or moves is
 * not this POST's doing. A renewed one is the step's one retry.
 */
async function afterRefusedCredential(
  command: Command,
  step: Step,
  ports: CommandPorts,
  after: AfterFirst & { readonly error: PlatformError },
): Promise<StepEnd> {
  const { quit, error, facts, firstEndedMono } = after;
  const { sent } = error.facts;
  const refused: StepEnd = sent
    ? rejected(error, facts)
    : { type: "not_sent", message: error.message, ...facts };
  if (!(await ports.platform.renewCredential(quit))) return withReadBack(refused, command, step, ports, quit);
  if (sent) await waitUntil(firstEndedMono + Math.max(secondPostMs, command.settings.settleMs), ports, quit);
  const isStop = step.purpose === "stop";
  const read = isStop ? null : await readFresh(command, step.address, ports, quit);
  const readBack = read?.type === "value" ? read.raw : null;
  if (readBack !== null && !hasToBeSent(command, step) && shows(command.settings, step, readBack))
    return { type: "confirmed", ...facts, readBack };
  if (quit.aborted && sent) return { type: "interrupted", ...facts, readBack };
  const isTooOld = ports.clock.monotonic() > command.deadlineMono;
  if (isTooOld || quit.aborted || (readBack === null && !isStop)) return { ...refused, readBack };
  return postAgain(command, step, ports, after, readBack, { ...refused, readBack });
}

/** An old mode, stop value or equal value in the register says nothing about these. */
const hasToBeSent = ({ force }: Command, { purpose }: Step): boolean => force || purpose !== "value";

/** No second POST: whatever the first did is read back until it shows or its time is over. */
async function readOn(
  command: Command,
  step: Step,
  ports: CommandPorts,
  { quit, facts, firstEndedMono, onSettling }: AfterAmbiguous,
  readBack: RawValue | null,
): Promise<StepEnd> {
  onSettling(facts);
  const seen = await confirmStep(command, step, firstEndedMono, ports, quit);
  // That read was later than the POST too: it tells what happened when nothing can be read any more.
  return confirmed({ ...seen, lastRead: seen.lastRead ?? readBack }, facts, "failed", quit);
}
