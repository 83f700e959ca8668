import { PlatformError } from "../../greenhouse/platform-error.js";
import type { DeviceRecord, PlatformReader } from "../../greenhouse/ports.js";
import type { AccountLists, ListedDevice, ListedStation } from "./survey.js";

export interface ListPorts {
  readonly platform: PlatformReader;
  readonly turn: () => Promise<void>;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Told what is missing from the lists, as one sentence. */
  readonly note: (sentence: string) => void;
}

/**
 * Stations and devices of the account. Rejects with the PlatformError where the list of controllers, or permission for
 * anything, is missing; without the other lists a scan still makes sense.
 */
export async function readLists(ports: ListPorts): Promise<AccountLists> {
  const { platform, signal, now } = ports;
  await ports.turn();
  const controllers = await platform.controllers(signal);
  if (controllers.isPage === true) ports.note(pageNote);
  const takenAt = now();
  const others = [
    ...(await orNone(ports, () => platform.devices("TEXT", signal))),
    ...(await orNone(ports, () => platform.devices("STREAM", signal))),
  ];
  const stations = await orNone(ports, () => platform.stations(signal));
  return { takenAt, stations: stations.map(station), devices: merged(controllers, others) };
}

async function orNone<Item>(
  { turn, note }: ListPorts,
  ask: () => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  await turn();
  try {
    return await ask();
  } catch (error) {
    const isBearable = error instanceof PlatformError && bearable.has(error.facts.kind);
    if (!isBearable) throw error;
    note(`going on without a list: ${error.message}`);
    return [];
  }
}

const pageNote =
  "the list of controllers is a page of a longer one, so devices may be missing here; platform.shapes.control/mqtt.params can ask for all of it, such as { pageSize: 500 }";

const bearable: ReadonlySet<string> = new Set(["rejected", "protocol", "server", "timeout"]);

/** The list of controllers comes first: it alone tells who is online. */
function merged(
  controllers: readonly DeviceRecord[],
  others: readonly DeviceRecord[],
): readonly ListedDevice[] {
  const byCode = new Map<string, ListedDevice>();
  for (const record of controllers) byCode.set(record.code, listed(record, true));
  for (const record of others) if (!byCode.has(record.code)) byCode.set(record.code, listed(record, false));
  return [...byCode.values()].sort((one, other) => (one.code < other.code ? -1 : 1));
}

// Nothing else of a record is kept: a stream's address may carry a password.
function listed(record: DeviceRecord, isController: boolean): ListedDevice {
  const { code, name, type, typeName, stationName, online } = record;
  return { code, name, type, typeName, stationName, online, isController };
}

const station = ({ id, name }: ListedStation): ListedStation => ({ id, name });
