import { modeAddress, positionAddress, stateAddresses } from "../../greenhouse/actuator-fold.js";
import { kindRows, type KindRow } from "../../greenhouse/actuator-kinds.js";
import { decodeValue } from "../../greenhouse/actuator-values.js";
import { PlatformError } from "../../greenhouse/platform-error.js";
import { shows, stepsOf, type Step } from "../../greenhouse/command/plan.js";
import type { RawValue } from "../../greenhouse/ports.js";
import type { Command } from "./command.js";
import type { CommandPorts } from "./command-ports.js";
import { type Ending, refused } from "./report.js";
import { readFresh } from "./read-back.js";

/** What is known about earlier POSTs of ours to the actuator; instants are monotonic ms. */
export interface PostMemory {
  readonly lastPostEndedAt: number | null;
  /** Not every earlier POST has been read back yet. */
  readonly unread: boolean;
}

export interface Checked {
  readonly steps: readonly Step[];
  readonly already: boolean;
  readonly readBack: RawValue | null;
}

/** Single-device status, then a fresh read of every address of the state; an ending when one of them refuses. */
export async function check(
  command: Command,
  memory: PostMemory,
  ports: CommandPorts,
  signal: AbortSignal,
): Promise<Checked | Ending> {
  const offline = await connectionRefusal(command, ports, signal);
  if (offline) return offline;
  const fresh = new Map<string, RawValue>();
  for (const address of readAddresses(command)) {
    const read = await readFresh(command, address, ports, signal);
    if (read.type === "value") fresh.set(address, read.raw);
    else if (read.type === "unanswered")
      return refused(
        "platform_unavailable",
        `Address ${address} could not be read before sending: ${read.reason}`,
        read.requestId,
      );
    else if (!command.force) {
      return refused(
        "no_read_back",
        `The platform shows no value for address ${address}, so nothing sent there could be confirmed. Check the address, or send with "force": true.`,
      );
    }
  }
  const { settings, wanted } = command;
  const steps = stepsOf(settings, wanted, fresh.get(settings.address) ?? null);
  const final = steps.at(-1);
  const readBack = final ? (fresh.get(final.address) ?? null) : null;
  return { steps, readBack, already: isAlready(command, final, fresh, memory, ports.clock.monotonic()) };
}

function readAddresses({ settings, wanted }: Command): readonly string[] {
  if (wanted.type === "position") return stateAddresses(settings);
  const row: KindRow = kindRows[settings.kind];
  return [row.positionMode === null ? settings.address : modeAddress(settings)];
}

async function connectionRefusal(
  command: Command,
  { platform }: CommandPorts,
  signal: AbortSignal,
): Promise<Ending | null> {
  try {
    const connection = await platform.connection(command.code, signal);
    if (connection === "online") return null;
    if (connection === "offline") {
      return refused(
        "controller_offline",
        "The platform says the controller is offline (or does not exist). Nothing was sent; check its power and network.",
      );
    }
    return refused(
      "platform_unavailable",
      "The platform's answer about the controller could not be read, so nothing was sent.",
    );
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    const { requestId = null } = error.facts;
    return refused("platform_unavailable", `Nothing was sent: ${error.message}`, requestId);
  }
}

function isAlready(
  command: Command,
  final: Step | undefined,
  fresh: ReadonlyMap<string, RawValue>,
  memory: PostMemory,
  monoNow: number,
): boolean {
  const { settings, wanted, force } = command;
  const raw = final && fresh.get(final.address);
  if (!final || raw === undefined || force || wanted.type === "stop" || memory.unread) return false;
  if (!shows(settings, final, raw)) return false;
  if (wanted.type !== "position") return true;
  const mode = fresh.get(modeAddress(settings));
  const inPositionMode =
    modeAddress(settings) === positionAddress(settings) ||
    (mode !== undefined && decodeValue(settings, mode).state === "position");
  return (
    inPositionMode &&
    (memory.lastPostEndedAt === null || monoNow - memory.lastPostEndedAt >= settings.travelMs)
  );
}
