import { documentedValues, isWindow } from "../../src/simulator/control-values.js";
import type { Readings } from "../../src/simulator/readings.js";
import type { Ask, Device, Post, Raw } from "./history.js";

/*
 * What values mean, by the interface document and by what the platform of a history takes otherwise of its words. Nothing is asked of
 * the program's own tables and decoders, which are what is judged.
 */

export const positionMode = "10100";

/** A platform that takes the document by its usual words. */
export const noReadings: Readings = new Set();

/** What each command word is called in the document's tables. */
const meanings: Readonly<Record<string, readonly string[]>> = {
  open: ["manual open"],
  close: ["manual close"],
  auto: ["automatic"],
  on: ["manual on"],
  off: ["manual off", "all off"],
  rotation: ["rotation irrigation mode"],
  all_on: ["all on"],
  fans_1_2_3: ["fans of stages 1, 2, 3 on"],
  fans_1_2: ["fans of stages 1 and 2 on"],
  fan_1: ["stage 1 fan on"],
  stop: ["stop"],
};

/** The value of a command word; null where there is none. */
export function valueOf({ kind, values }: Pick<Device, "kind" | "values">, word: string): string | null {
  const own = values[word];
  if (own !== undefined) return own;
  const wanted = meanings[word] ?? [];
  const found = Object.entries(documentedValues(kind)).find(([, meaning]) =>
    wanted.some((text) => meaning.startsWith(text)),
  );
  return found?.[0] ?? null;
}

export const modeAddress = ({ address, modeAddress: own = address }: Device): string => own;
export const positionAddress = ({ address, positionAddress: own = address }: Device): string => own;

/** Mode and degree have an address each. */
const isApart = (device: Device): boolean => modeAddress(device) !== positionAddress(device);

/** The addresses whose values make up the state. */
export function stateAddresses(device: Device): readonly string[] {
  if (!isWindow(device.kind)) return [device.address];
  return [...new Set([modeAddress(device), positionAddress(device)])];
}

/** Where it takes time until a value is reached. */
export const travels = ({ kind }: Device): boolean => isWindow(kind) || kind === "motor";

export type Step = Pick<Post, "address" | "value">;

/** What a word finally sends, and where. */
export function targetOf(device: Device, word: string): Step {
  if (word === "stop" && device.stop) return device.stop;
  const goesToDegrees = isWindow(device.kind);
  if (goesToDegrees && /^\d+$/.test(word)) return { address: positionAddress(device), value: word };
  const address = goesToDegrees ? modeAddress(device) : device.address;
  return { address, value: valueOf(device, word) ?? "" };
}

export const isDegree = (raw: Raw): boolean => /^\d{1,3}$/.test(String(raw).trim()) && Number(raw) <= 100;

/** Equal as the platform may write a value: as text or as a number that lost its leading zeros. */
export function sameAs(value: string, raw: Raw): boolean {
  const text = String(raw).trim();
  return text === value || (/^\d+$/.test(text) && /^\d+$/.test(value) && Number(text) === Number(value));
}

export function isNear(device: Device | null, wanted: string, raw: Raw): boolean {
  if (device === null || device.tolerance <= 0 || !isDegree(wanted) || !isDegree(raw)) return false;
  return Math.abs(Number(wanted) - Number(raw)) <= device.tolerance;
}

/** Whether a read of the mode address proves position mode; where the position has an address of its own, no number does. */
export const provesMode = (device: Device, raw: Raw): boolean =>
  sameAs(positionMode, raw) || (!isApart(device) && isDegree(raw));

/** Whether a read shows what was sent. */
export function shows(ask: Ask, step: Step, raw: Raw): boolean {
  const { settings, word } = ask;
  const isMode = step.value === positionMode && word !== "stop";
  if (settings !== null && isMode && step.address === modeAddress(settings)) return provesMode(settings, raw);
  if (sameAs(step.value, raw) || isNear(settings, step.value, raw)) return true;
  const others = settings === null || word === "stop" ? [] : alsoMeans(ask.readings, settings, step.value);
  return others.some((value) => sameAs(value, raw));
}

/** Whether a read shows all that its platform ever shows of the degree that was taken. */
export const showsSending = (ask: Ask, step: Step, raw: Raw): boolean =>
  step.value !== positionMode && showsModeAlone(ask.readings, step.value, raw);

/** Whether a read shows it, or all of it that such a platform ever shows. */
export const showsAll = (ask: Ask, step: Step, raw: Raw): boolean =>
  shows(ask, step, raw) || showsSending(ask, step, raw);

/** Whether the POST was a step towards a degree, not the value itself. */
export const isModeStep = (ask: Ask, post: Step): boolean =>
  post.value === positionMode && ask.word !== "stop";

/** What else a read may show where this value was taken, and stays so. */
export function alsoMeans(readings: Readings, device: Device, value: string): readonly string[] {
  const { kind } = device;
  if (kind === "motor" || kind === "custom") return [];
  const combined = readings.has("combined_bits");
  if (combined && value === "1100" && !isWindow(kind)) return ["1110", "1101"];
  if (!isWindow(kind)) return [];
  const ends = readings.has("actual_positions") && !isApart(device);
  if (ends && value === "10010") return ["100"];
  if (ends && value === "10001") return ["0"];
  return combined && value === "11000" ? ["11010", "11001"] : [];
}

/** Whether a read that goes on showing the mode is all that such a platform ever shows of a degree. */
const showsModeAlone = (readings: Readings, wanted: string, raw: Raw): boolean =>
  readings.has("mode_stays") && isDegree(wanted) && String(raw) === positionMode;

/** Whether an honest platform may show this while its register holds that. */
export function mayTell(readings: Readings, held: string, raw: Raw): boolean {
  const text = String(raw);
  if (readings.has("actual_positions") && isDegree(text)) return true;
  if (showsModeAlone(readings, held, raw)) return true;
  if (!readings.has("combined_bits")) return false;
  return (
    (held === "11000" && ["11010", "11001"].includes(text)) ||
    (held === "1100" && ["1110", "1101"].includes(text))
  );
}

/**
 * Where and as what a read shows what was sent. A mode that can only be written is seen in the degree alone, which has an address of its
 * own then: all open, and closed.
 */
export function provenBy({ readings, settings }: Pick<Ask, "readings" | "settings">, step: Step): Step {
  const isWritten = readings.has("mode_write_only") && settings !== null && isApart(settings);
  if (!isWritten || step.address !== modeAddress(settings)) return step;
  const ends = { [valueOf(settings, "open") ?? ""]: "100", [valueOf(settings, "close") ?? ""]: "0" };
  return { address: positionAddress(settings), value: ends[step.value] ?? step.value };
}

/** Whether its register goes back to idle by itself, and shows no more of what was sent than that it is idle again. */
export const isPulse = (readings: Readings, device: Pick<Device, "kind"> | null): boolean =>
  readings.has("motors_pulse") && device?.kind === "motor";

/** What a register shows at rest: nothing, or the value that stops. */
export const isIdle = (raw: Raw): boolean => sameAs("00000000", raw) || sameAs("00000100", raw);

/** Whether the first fresh read may be of before what was sent: it orders the next one's. */
export const readsLag = (readings: Readings): boolean => readings.has("flush_orders");

/** Whether no read gives anything of it: its mode can only be written, and nobody was told where its degree is. */
export const isUnreadable = (readings: Readings, device: Device): boolean =>
  readings.has("mode_write_only") &&
  readings.has("degrees_apart") &&
  isWindow(device.kind) &&
  !isApart(device);

/**
 * What such a platform never shows, so that no command for it can be confirmed: a window left to itself, or stopped, whose one address
 * says how far it is.
 */
export function isNeverShown(readings: Readings, device: Device, word: string | null): boolean {
  const hasOneAddress = !isApart(device) && !readings.has("degrees_apart");
  const isPosition = readings.has("actual_positions") && hasOneAddress && isWindow(device.kind);
  if (isUnreadable(readings, device)) return true;
  // Of a mode that can only be written nothing but a degree is ever shown, and that stays as it was.
  if (readings.has("mode_write_only") && isApart(device) && !isDegree(word ?? "")) return true;
  return isPosition && (word === "auto" || word === "stop");
}
