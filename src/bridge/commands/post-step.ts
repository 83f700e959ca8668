import type { Step } from "../../greenhouse/command/plan.js";
import { PlatformError } from "../../greenhouse/platform-error.js";
import type { WriteAccepted } from "../../greenhouse/ports.js";
import type { RecordBody } from "../../journal/records.js";
import type { Command } from "./command.js";
import type { CommandPorts } from "./command-ports.js";
import type { Evidence } from "./step-end.js";

export type PostMoment = "begins" | "ended";

export type Answer =
  | { readonly type: "accepted"; readonly answer: WriteAccepted }
  | { readonly type: "error"; readonly error: PlatformError };

/** One POST of a step, journaled before and after; `onPosted` is told of its begin and its end. */
export async function post(
  command: Command,
  step: Step,
  attempt: number,
  ports: CommandPorts,
  onPosted: (moment: PostMoment) => void,
): Promise<Answer> {
  const about = {
    controller: command.code,
    actuator: command.targetId,
    target: command.target,
    id: command.id,
  };
  onPosted("begins");
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
  onPosted("ended");
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

export function factsOf(answer: Answer, attempts: number): Evidence {
  if (answer.type === "accepted") {
    return { attempts, code: answer.answer.code, requestId: answer.answer.requestId, readBack: null };
  }
  const { code, requestId } = answer.error.facts;
  return { attempts, code: code ?? null, requestId: requestId ?? null, readBack: null };
}
