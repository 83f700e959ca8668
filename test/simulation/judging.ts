import type { Configuration } from "../../src/config/schema.js";
import { modeAddress, positionAddress } from "../../src/greenhouse/fold-registers.js";
import type { RawValue } from "../../src/greenhouse/ports.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import { type Ask, type ValidRead, Violation, type Write } from "./history.js";
import { alsoMeans, showsModeAlone } from "./readings.js";
import type { World } from "./world.js";

// What the checks judge by is written without the product's own comparisons.

export const positionMode = "10100";

export const isDegree = (raw: RawValue): boolean =>
  /^\d{1,3}$/.test(String(raw).trim()) && Number(raw) <= 100;

/** Equal as the platform may write a value: as text or as a number that lost its leading zeros. */
export function sameAs(value: string, raw: RawValue): boolean {
  const text = String(raw).trim();
  return text === value || (/^\d+$/.test(text) && /^\d+$/.test(value) && Number(text) === Number(value));
}

export const laneOf = (ask: Ask): string => `${ask.code}/${ask.actuator}`;

/** The bridge said that it took it. */
export const isTaken = (ask: Ask): boolean => ask.phases.length > 0;

export function isNear(settings: ActuatorSettings | null, wanted: string, raw: RawValue): boolean {
  if (settings === null || settings.tolerance <= 0 || !isDegree(wanted) || !isDegree(raw)) return false;
  return Math.abs(Number(wanted) - Number(raw)) <= settings.tolerance;
}

/** Whether a read of the mode address proves position mode; where the position has an address of its own, no number does. */
export const provesMode = (settings: ActuatorSettings, raw: RawValue): boolean =>
  sameAs(positionMode, raw) || (modeAddress(settings) === positionAddress(settings) && isDegree(raw));

/** Whether a read shows what was sent. */
export function shows(ask: Ask, step: Pick<Write, "address" | "value">, raw: RawValue): boolean {
  const { settings, word } = ask;
  const isMode = step.value === positionMode && word !== "stop";
  if (settings !== null && isMode && step.address === modeAddress(settings)) return provesMode(settings, raw);
  if (sameAs(step.value, raw) || isNear(settings, step.value, raw)) return true;
  const others = settings === null || word === "stop" ? [] : alsoMeans(ask.readings, settings, step.value);
  return others.some((value) => sameAs(value, raw));
}

/** Whether a read shows all that its platform ever shows of the degree that was taken. */
export const showsSending = (ask: Ask, step: Pick<Write, "address" | "value">, raw: RawValue): boolean =>
  step.value !== positionMode && showsModeAlone(ask.readings, step.value, raw);

/** Whether the POST was a step towards a degree, not the value itself. */
export const isModeStep = (ask: Ask, write: Write): boolean =>
  write.value === positionMode && ask.word !== "stop";

/** The newest valid read since then that shows it. */
export const proofOf = (
  { journalist }: World,
  ask: Ask,
  step: Pick<Write, "address" | "value">,
  since: number,
): ValidRead | undefined =>
  journalist
    .readsSince(ask.code, step.address, since)
    .findLast(({ raw }) => shows(ask, step, raw) || showsSending(ask, step, raw));

/** What the checks know of each actuator's POSTs so far; keys are `GH-0001/roof`. */
export class PostBook {
  readonly world: World;
  readonly lastPosted = new Map<string, Write>();
  /** The first POST of the command that was sent last. */
  readonly firstPost = new Map<string, Write>();
  readonly lastStop = new Map<string, Write>();
  /** The command that said last that it is sending. */
  readonly senders = new Map<string, Ask>();
  /** Stops whose outcome was told while the journal could not be written: a crash before it can loses that outcome. */
  readonly unjournaled = new Set<string>();
  /** Commands whose accepted answer the journal kept over the crash. */
  readonly survived = new Set<string>();
  readonly #owners: ReadonlyMap<string, string>;

  constructor(world: World) {
    this.world = world;
    this.#owners = ownersOf(world.scenario.configuration);
  }

  /** Whose POST one to this address must be. */
  sender(code: string, address: string): Ask | null {
    return this.senders.get(this.#owners.get(`${code}/${address}`) ?? "") ?? null;
  }

  /**
   * Whether a question to the platform can only be of a stop or of what a rule sends, by what has been said of commands. Whether a
   * confirmed value held is looked at with no command open, so that reads of what travels are never taken for one.
   */
  goesFirst(boot: number, { code, kind, address }: Question): boolean {
    const { lanes } = this.world.journalist;
    const owner = this.#owners.get(`${code}/${address}`) ?? "";
    const about = address === "" ? [...lanes.keys()].filter((lane) => lane.startsWith(`${code}/`)) : [owner];
    const stage = address === "" ? "connection" : kind;
    const open = about.flatMap((lane) => (lanes.get(lane) ?? []).slice(-40).filter(mayAsk(boot, stage)));
    const travels = ({ settings }: Ask) => settings === null || settings.travelMs > 0;
    if (stage === "read" && open.some(travels)) return false;
    return open.length > 0 && open.every(isFirst);
  }

  broken(invariant: string, message: string): void {
    this.world.fail(new Violation(invariant, message));
  }
}

/** What is asked of the platform; of a connection the address is empty. */
export interface Question {
  readonly code: string;
  readonly kind: "read" | "post";
  readonly address: string;
}

const isFirst = ({ word, rule }: Ask): boolean => word === "stop" || rule !== null;

const askedIn = {
  connection: ["checking"],
  post: ["waiting", "checking", "sending"],
  read: ["waiting", "checking", "sending", "confirming"],
} as const;

/** Whether a command may be the one that asks now. */
const mayAsk =
  (boot: number, stage: keyof typeof askedIn) =>
  ({ phases, results, boot: own }: Ask): boolean => {
    const last = phases.at(-1);
    if (own !== boot) return results.length === 0;
    return last !== undefined && askedIn[stage].some((phase) => phase === last.phase);
  };

/** Watches over some rules of the contract. */
export abstract class Check {
  protected readonly book: PostBook;
  protected readonly world: World;

  constructor(book: PostBook) {
    this.book = book;
    this.world = book.world;
  }

  protected broken(invariant: string, message: string): void {
    this.book.broken(invariant, message);
  }

  /** A rare path was taken. */
  protected saw(name: string): void {
    this.world.journalist.saw(name);
  }
}

/** `GH-0001/101` → the actuator that owns the address. */
function ownersOf({ controllers }: Configuration): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const [code, { actuators }] of Object.entries(controllers))
    for (const [id, actuator] of Object.entries(actuators)) {
      const { address, mode_address, position_address, stop } = actuator;
      for (const one of [address, mode_address, position_address, stop?.address])
        if (one !== undefined) owners.set(`${code}/${one}`, `${code}/${id}`);
    }
  return owners;
}
