import { controllerTopicId } from "../../settings/controllers.js";
import type { SeenAddress } from "../../greenhouse/addresses-seen.js";
import {
  type DeviceType,
  deviceType,
  isCamera,
  mayHaveReadings,
  type ParameterGroup,
} from "../../greenhouse/device-types.js";
import {
  PlatformError,
  type PlatformErrorFacts,
  type ListedAddress,
  type RawValue,
  type RunningStatusItem,
  type SensorItem,
} from "../../greenhouse/ports.js";
import { msg, type Text, TextError } from "../../language/text.js";
import { isDeviceCode } from "../../platform/operations.js";
import type { Clock } from "../../runtime/clock.js";
import type { RequestBudget } from "../../runtime/schedule.js";

/** A device as the account's lists show it. */
export interface ListedDevice {
  readonly code: string;
  readonly name: string | null;
  readonly type: DeviceType | null;
  readonly typeName: string | null;
  readonly stationName: string | null;
  /** Null if no list says it. */
  readonly online: boolean | null;
  /** The device is in the list of all controllers, not only in a list of devices. */
  readonly isController: boolean;
  /** Only the list of stations has it, which may name devices or not; its answers decide. */
  readonly isOfStations?: true;
}

export interface AccountLists {
  /** Epoch ms. */
  readonly takenAt: number;
  readonly stations: readonly { readonly id: string; readonly name: string | null }[];
  /** Sorted by code. */
  readonly devices: readonly ListedDevice[];
  /** Lists, or parts of them, that could not be read. */
  readonly notes?: readonly Text[];
}

/** One request about a device: its readings, its running statuses, or the addresses of one type. */
export type Ask = "sensors" | "statuses" | ParameterGroup;

export type Answer =
  | (Unread & { readonly type: "sensors"; readonly items: readonly SensorItem[] })
  | (Unread & { readonly type: "statuses"; readonly items: readonly RunningStatusItem[] })
  | (Unread & {
      readonly type: "values";
      readonly values: readonly (readonly [address: string, raw: RawValue])[];
      /** Listed addresses without a value, or with more than a value. */
      readonly beside?: readonly ListedAddress[];
    })
  /** The platform answered with a code other than success; asking again would give the same. */
  | { readonly type: "refused"; readonly why: string };

interface Unread {
  /** Parts of the answer that could not be read, each once. */
  readonly unread?: readonly Text[];
}

/** What a scan learnt about one device. */
export interface DeviceSurvey {
  readonly device: ListedDevice;
  readonly answers: ReadonlyMap<Ask, Answer>;
  /** Questions without a usable answer, and why. */
  readonly unanswered: readonly { readonly ask: Ask; readonly why: Text }[];
  /** Its addresses were not asked for, because the device is not connected. */
  readonly isOffline: boolean;
  /** What the device pushed while somebody listened. */
  readonly heard?: readonly SeenAddress[];
}

export interface Survey extends Pick<AccountLists, "stations" | "notes"> {
  readonly devices: readonly DeviceSurvey[];
}

export const isComplete = (survey: Survey): boolean =>
  survey.devices.every(({ unanswered, isOffline }) => unanswered.length === 0 && !isOffline);

/** The user's choice. */
export interface Selection {
  /** Device codes or topic ids; empty for the whole account. */
  readonly controllers: readonly string[];
  readonly types: readonly ParameterGroup[];
}

export interface PlannedDevice {
  readonly device: ListedDevice;
  readonly asks: readonly Ask[];
}

const weatherStation = deviceType("W001");

/**
 * Which device to ask for what, with the fewest requests: one for readings, one for running statuses, and one for all
 * addresses of a type. Cameras are asked for readings only, if they may have some. Weather stations and devices that
 * are no controllers are asked for addresses only if named.
 */
export function planScan(
  devices: readonly ListedDevice[],
  { controllers, types }: Selection,
  isLeftOut: (code: string) => boolean,
): readonly PlannedDevice[] {
  const chosen = controllers.length > 0;
  const wanted = chosen
    ? devices.filter((device) => controllers.some((name) => isCalled(device, name)))
    : devices.filter(({ code }) => !isLeftOut(code));
  return wanted.map((device) => {
    const { code, type, isController, isOfStations } = device;
    if (!isUsableCode(code)) return { device, asks: [] };
    if (isOfStations === true && !chosen) return { device, asks: ["sensors"] };
    if (isCamera(type)) return { device, asks: mayHaveReadings(type) ? ["sensors"] : [] };
    const hasAddresses = chosen || (isController && type !== weatherStation);
    return { device, asks: ["sensors", "statuses", ...(hasAddresses ? types : [])] };
  });
}

/** Whether a code may be in a request and be a key of the configuration. */
export const isUsableCode = (code: string): boolean => isDeviceCode(code) && code !== "__proto__";

export const isCalled = ({ code }: ListedDevice, name: string): boolean =>
  code === name || controllerTopicId(code) === name;

/** A scan ended early; what it learnt is kept. */
export class ScanEnded extends TextError {
  override name = "ScanEnded" as const;
  readonly reason: "stopped" | "gave_up";

  constructor(reason: ScanEnded["reason"], message: Text = msg`stopped`) {
    super(message);
    this.reason = reason;
  }
}

const mostWaits = 6;
const longestWaitMs = 60_000;
/** After this many unanswered questions in a row, no platform is there. */
const mostLeftOut = 10;

/** Asks one question after the other within the budget, each until it is answered or not worth another try. */
export class Asker {
  readonly #clock: Clock;
  readonly #budget: RequestBudget;
  readonly #stop: AbortSignal;
  readonly #cut: AbortSignal;
  #leftOutInARow = 0;

  /** `stop`: begin nothing new; `cut`: end what is under way. */
  constructor(clock: Clock, budget: RequestBudget, stop: AbortSignal, cut: AbortSignal) {
    this.#clock = clock;
    this.#budget = budget;
    this.#stop = stop;
    this.#cut = cut;
  }

  /** Waits for a free request. Rejects with ScanEnded if the scan has to end. */
  async turn(): Promise<void> {
    if (this.#stop.aborted) throw new ScanEnded("stopped");
    await this.#budget.turn(this.#clock, this.#stop).catch(() => {
      throw new ScanEnded("stopped");
    });
  }

  /** Rejects with the PlatformError of a question that is skipped, or with ScanEnded. */
  async ask<T>(question: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries += 1) {
      await this.turn();
      try {
        const answer = await question(this.#cut);
        this.#leftOutInARow = 0;
        return answer;
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error;
        if (this.#cut.aborted) throw new ScanEnded("stopped");
        const againMs = pauseBeforeRetryMs(error.facts, tries);
        if (againMs === null) throw this.#without(error);
        await this.#wait(againMs);
      }
    }
  }

  /** The error to throw when asking again does not help. */
  #without(error: PlatformError): PlatformError | ScanEnded {
    const { kind, ofOperation = false } = error.facts;
    if (answered.has(kind)) this.#leftOutInARow = 0;
    else if (kind !== "invalid_request" && !ofOperation) this.#leftOutInARow += 1;
    // Ends the scan if nothing else would be answered either; a single useless operation says nothing of the others.
    const isHopeless = !ofOperation && (hopeless.has(kind) || this.#leftOutInARow >= mostLeftOut);
    return isHopeless ? new ScanEnded("gave_up", error.text) : error;
  }

  async #wait(ms: number): Promise<void> {
    if (this.#stop.aborted) throw new ScanEnded("stopped");
    if (ms <= 0) return;
    await this.#clock.wait(ms, this.#stop).catch(() => {
      throw new ScanEnded("stopped");
    });
  }
}

/** Whatever the answer, somebody is there. */
const answered: ReadonlySet<PlatformErrorFacts["kind"]> = new Set(["rejected", "server", "protocol"]);

const hopeless: ReadonlySet<PlatformErrorFacts["kind"]> = new Set(["unauthorized", "paused", "throttled"]);

/** Ms until the question is asked again; null if it is not. The client itself has repeated what is worth repeating. */
export function pauseBeforeRetryMs(facts: PlatformErrorFacts, tries: number): number | null {
  if (facts.kind === "timeout") return tries === 0 ? 0 : null;
  const isHeldBack = facts.kind === "paused" || facts.kind === "throttled";
  if (!isHeldBack || facts.ofOperation === true) return null;
  const afterMs = facts.retryAfterMs ?? 10_000;
  return tries >= mostWaits || afterMs > longestWaitMs ? null : afterMs;
}
