import type { BridgeEvent } from "../greenhouse/bridge-events.js";
import type { CommandResult, Outcome } from "../greenhouse/command/outcomes.js";

const eventTypes = {
  confirmed: null,
  already: null,
  dry_run: null,
  refused: null,
  superseded: null,
  rejected: "command_rejected",
  unconfirmed: "command_unconfirmed",
  failed: "command_failed",
  unknown: "command_unconfirmed",
} as const satisfies Record<Outcome, BridgeEvent["type"] | null>;

/** What a person should be told of a command's end, with what to check; null when it went as it should. */
export function alertFor(result: CommandResult, at: number): BridgeEvent | null {
  const type = eventTypes[result.outcome];
  if (type === null) return null;
  const { controller, actuator, command, id, reason, request_id, read_back } = result;
  const message = `${controller}/${actuator} ${command ?? ""}: ${result.message ?? result.outcome}`;
  return {
    type,
    severity: "error",
    message,
    at,
    facts: { controller, actuator, command, id, reason, request_id, read_back },
  };
}

/** Whether the end turns the controller's problem flag on or off for this actuator; null leaves it as it is. */
export function problemAfter({ outcome, steps }: Pick<CommandResult, "outcome" | "steps">): boolean | null {
  switch (outcome) {
    case "rejected":
    case "unconfirmed":
    case "unknown":
      return true;
    case "failed":
      // The problem is that of the newest command sent; of this one nothing was.
      return steps.length > 0 ? true : null;
    case "confirmed":
    case "already":
      return false;
    case "dry_run":
    case "refused":
    case "superseded":
      return null;
  }
}
