import { documentedValues, isWindow } from "../../src/simulator/control-values.js";
import type { Readings } from "../../src/simulator/readings.js";
import type { Ask, Device, Post, Raw } from "./history.js";

/*
 * The meaning of values by the interface document, and by the way the history's platform differs from it. The program's
 * own tables and decoders are not used, as they are what is judged.
 */

export const positionMode = "10100";

/** A platform that follows the document as usually read. */
export const noReadings: Readings = new Set();

/** The texts of each command word in the document's tables. */
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

/** The value of a command word; null for none. */
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

/** Whether mode and degree have an address each. */
const isApart = (device: Device): boolean => modeAddress(device) !== positionAddress(device);

/** The addresses whose values make up the state. */
export function stateAddresses(device: Device): readonly string[] {
  if (!isWindow(device.kind)) return [device.address];
  return [...new Set([modeAddress(device), positionAddress(device)])];
}

/** Whether reaching a value takes time. */
export const travels = ({ kind }: Device): boolean => isWindow(kind) || kind === "motor";

export type Step = Pick<Post, "address" | "value">;

/** The last step of a word. */
export function targetOf(device: Device, word: string): Step {
  if (word === "stop" && device.stop) return device.stop;
  const goesToDegrees = isWindow(device.kind);
  if (goesToDegrees && /^\d+$/.test(word)) return { address: positionAddress(device), value: word };
  const address = goesToDegrees ? modeAddress(device) : device.address;
  return { address, value: valueOf(device, word) ?? "" };
}

export const isDegree = (raw: Raw): boolean => /^\d{1,3}$/.test(String(raw).trim()) && Number(raw) <= 100;

/** Whether two values are equal as the platform may write them: as text, or as a number without leading zeros. */
export function sameAs(value: string, raw: Raw): boolean {
  const text = String(raw).trim();
  return text === value || (/^\d+$/.test(text) && /^\d+$/.test(value) && Number(text) === Number(value));
}

export function isNear(device: Device | null, wanted: string, raw: Raw): boolean {
  if (device === null || device.tolerance <= 0 || !isDegree(wanted) || !isDegree(raw)) return false;
  return Math.abs(Number(wanted) - Number(raw)) <= device.tolerance;
}

/**
 * Whether a read of the mode address proves position mode; if the position has an address of its own, no number does.
 */
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

/** Whether a read shows everything that this platform ever shows of an accepted degree. */
export const showsSending = (ask: Ask, step: Step, raw: Raw): boolean =>
  step.value !== positionMode && showsModeAlone(ask.readings, step.value, raw);

/** Whether a read shows the value, or everything that this platform ever shows of it. */
export const showsAll = (ask: Ask, step: Step, raw: Raw): boolean =>
  shows(ask, step, raw) || showsSending(ask, step, raw);

/** Whether the POST was a step towards a degree and not the value itself. */
export const isModeStep = (ask: Ask, post: Step): boolean =>
  post.value === positionMode && ask.word !== "stop";

/** Further values that a read may show permanently after this value was accepted. */
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

/** Whether a read that still shows the mode is everything that this platform shows of a degree. */
const showsModeAlone = (readings: Readings, wanted: string, raw: Raw): boolean =>
  readings.has("mode_stays") && isDegree(wanted) && String(raw) === positionMode;

/** Whether an honest platform may show this value while its register holds the other. */
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
 * The address and value by which a sent step can be read. A mode that can only be written shows in the degree alone,
 * which then has its own address: fully open, and closed.
 */
export function provenBy({ readings, settings }: Pick<Ask, "readings" | "settings">, step: Step): Step {
  const isWritten = readings.has("mode_write_only") && settings !== null && isApart(settings);
  if (!isWritten || step.address !== modeAddress(settings)) return step;
  const ends = { [valueOf(settings, "open") ?? ""]: "100", [valueOf(settings, "close") ?? ""]: "0" };
  return { address: positionAddress(settings), value: ends[step.value] ?? step.value };
}

/** Whether the register returns to idle by itself, so that it only shows that it is idle again. */
export const isPulse = (readings: Readings, device: Pick<Device, "kind"> | null): boolean =>
  readings.has("motors_pulse") && device?.kind === "motor";

/** Whether a register is at rest: with nothing, or with the value that stops. */
export const isIdle = (raw: Raw): boolean => sameAs("00000000", raw) || sameAs("00000100", raw);

/** Whether the first fresh read may show the old value, as it only orders the next one's. */
export const readsLag = (readings: Readings): boolean => readings.has("flush_orders");

/** Whether no read shows anything: the mode can only be written, and the degree's address is not configured. */
export const isUnreadable = (readings: Readings, device: Device): boolean =>
  readings.has("mode_write_only") &&
  readings.has("degrees_apart") &&
  isWindow(device.kind) &&
  !isApart(device);

/**
 * Whether this platform never shows the command's effect, so that it cannot be confirmed: a window in automatic, or
 * stopped, whose only address gives its position.
 */
export function isNeverShown(readings: Readings, device: Device, word: string | null): boolean {
  const hasOneAddress = !isApart(device) && !readings.has("degrees_apart");
  const isPosition = readings.has("actual_positions") && hasOneAddress && isWindow(device.kind);
  if (isUnreadable(readings, device)) return true;
  // Of a mode that can only be written, only the degree shows, which stays as it was.
  if (readings.has("mode_write_only") && isApart(device) && !isDegree(word ?? "")) return true;
  return isPosition && (word === "auto" || word === "stop");
}
