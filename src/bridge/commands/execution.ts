import type { BetweenSteps } from "../../greenhouse/model.js";
import type { StepReport } from "../../greenhouse/command/outcomes.js";
import { stateAddresses } from "../../greenhouse/actuator-fold.js";
import { expired } from "../../greenhouse/command/age.js";
import { stepsOf, type Step } from "../../greenhouse/command/plan.js";
import { check, type PostMemory } from "./checks.js";
import type { Command, Phase } from "./command.js";
import type { CommandPorts } from "./command-ports.js";
import { endingAfter, stepReport } from "./endings.js";
import type { PostMoment } from "./post-step.js";
import { readFresh } from "./read-back.js";
import { type Ending, refused, type SentSoFar, shuttingDown, superseded } from "./report.js";
import { sendStep } from "./send-step.js";
import { takenRecord } from "./taken-record.js";

/** What the lane of the actuator has to know and may say while a command runs. */
export interface ExecutionHooks {
  readonly memory: PostMemory;
  readonly dryRun: boolean;
  /** The command is about to POST for the first time: whoever is still confirming gives way now. */
  readonly aboutToPost: () => void;
  /** A POST begins, or has ended; with where the command's steps stand. */
  readonly posted: (moment: PostMoment, between: BetweenSteps | null) => void;
  /** Every step has been sent; the actuator is free for a newer command. */
  readonly allSent: (soFar: SentSoFar) => void;
  readonly phase: (phase: Phase) => void;
  /** Aborts confirming when a newer command takes over. */
  readonly quit: AbortSignal;
  /** Set when a stop waits: no further step may be sent. */
  readonly isStopped: () => boolean;
  /** The program ends: nothing new may be sent, not even a stop. */
  readonly isClosed: () => boolean;
}

/** One command from its checks to its end. Never rejects for anything the platform does. */
export async function execute(command: Command, hooks: ExecutionHooks, ports: CommandPorts): Promise<Ending> {
  if (command.wanted.type === "stop") return executeStop(command, hooks, ports);
  hooks.phase("checking");
  const checking = check(command, hooks.memory, ports, hooks.quit);
  const journaled = journalTaken(command, ports, hooks.dryRun);
  const checked = await checking;
  if ("outcome" in checked) return checked;
  if (checked.already) return { outcome: "already", reason: null, message: null, readBack: checked.readBack };
  if (hooks.dryRun) {
    return {
      outcome: "dry_run",
      reason: null,
      message: "Everything was checked; nothing was sent because it is a dry run.",
      readBack: checked.readBack,
    };
  }
  const reason = await journaled;
  if (reason !== null)
    return refused(
      "journal_unavailable",
      `Nothing was sent because the journal cannot be written: ${reason}`,
    );
  if (hooks.isStopped()) return superseded("before_sending");
  if (ports.clock.monotonic() > command.deadlineMono) return refusedExpired();
  hooks.aboutToPost();
  return sendAll(command, checked.steps, hooks, ports);
}

const refusedExpired = (): Ending => refused(expired().reason, expired().message);

async function executeStop(command: Command, hooks: ExecutionHooks, ports: CommandPorts): Promise<Ending> {
  if (ports.clock.monotonic() > command.deadlineMono) return refusedExpired();
  const reason = await Promise.race([journalTaken(command, ports), slowJournal(ports)]);
  if (hooks.isClosed()) return shuttingDown();
  if (reason !== null) ports.log.error({ reason }, "a stop is sent although the journal cannot be written");
  hooks.aboutToPost();
  const steps = stepsOf(command.settings, command.wanted, null);
  const ending = await sendAll(command, steps, hooks, ports);
  if (ending.outcome === "confirmed") await readStopped(command, steps, hooks, ports);
  return ending;
}

/** A stop with an address of its own says nothing of the state, which is another one now. */
async function readStopped(
  command: Command,
  steps: readonly Step[],
  { quit }: ExecutionHooks,
  ports: CommandPorts,
): Promise<void> {
  const read = new Set(steps.map(({ address }) => address));
  for (const address of stateAddresses(command.settings))
    if (!read.has(address) && !quit.aborted) await readFresh(command, address, ports, quit);
}

/** A disk that hangs must not hold up a stop. */
const stopWaitsMs = 200;

const slowJournal = ({ clock }: CommandPorts): Promise<string> =>
  clock.wait(stopWaitsMs).then(() => "the disk does not answer");

async function sendAll(
  command: Command,
  steps: readonly Step[],
  hooks: ExecutionHooks,
  ports: CommandPorts,
): Promise<Ending> {
  const sentAt = ports.clock.now();
  const reports: StepReport[] = [];
  for (const [place, step] of steps.entries()) {
    const cut = place > 0 ? cutShort(command, hooks, ports) : null;
    if (cut) return { ...cut, steps: reports, sentAt };
    const isLast = place === steps.length - 1;
    hooks.phase("sending");
    const end = await sendStep(command, step, ports, {
      quit: hooks.quit,
      onPosted: (moment) => {
        const until = isLast && moment === "ended" ? step.address : null;
        hooks.posted(moment, steps.length > 1 ? { until } : null);
      },
      onSettling: (facts) => {
        if (!isLast) return;
        hooks.phase("confirming");
        const report = stepReport(command.settings, step, { type: "interrupted", ...facts });
        hooks.allSent({ steps: [...reports, report], sentAt, requestId: facts.requestId });
      },
    });
    reports.push(stepReport(command.settings, step, end));
    const ending = endingAfter(step, end, isLast);
    if (ending)
      return { ...ending, steps: reports, sentAt: end.type === "not_sent" && place === 0 ? null : sentAt };
  }
  return { outcome: "unknown", reason: null, message: "The command had no steps.", steps: reports, sentAt };
}

function cutShort(command: Command, hooks: ExecutionHooks, ports: CommandPorts): Ending | null {
  if (hooks.isStopped()) return superseded("after_sending");
  if (ports.clock.monotonic() <= command.deadlineMono) return null;
  return {
    outcome: "failed",
    reason: "expired_midway",
    message:
      "The command grew older than its max_age half way; the steps told here were done, the rest was not sent.",
  };
}

/** The record that must be on disk before the first byte of a POST; resolves with the reason when it is not. */
async function journalTaken(
  command: Command,
  { journal }: CommandPorts,
  dryRun = false,
): Promise<string | null> {
  try {
    await journal.append(takenRecord(command, dryRun ? { dry_run: true } : {}), { durable: true });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : "unknown reason";
  }
}
