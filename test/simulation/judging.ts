import type { Configuration } from "../../src/config/schema.js";
import type { Ask, Findings, History } from "../judge/history.js";
import type { Rule } from "../judge/rules.js";
import { historyOf } from "./as-history.js";
import { Violation } from "./history.js";
import type { World } from "./world.js";

/** Whose POST one must be, by what has been said of commands; keys are `GH-0001/roof`. */
export class PostBook {
  readonly world: World;
  readonly history: History;
  /** The command that said last that it is sending. */
  readonly senders = new Map<string, Ask>();
  readonly #owners: ReadonlyMap<string, string>;

  constructor(world: World) {
    this.world = world;
    this.history = historyOf(world);
    this.#owners = ownersOf(world.scenario.configuration);
  }

  /** The actuator that owns an address. */
  owner(code: string, address: string): string | null {
    return this.#owners.get(`${code}/${address}`)?.slice(code.length + 1) ?? null;
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
    return open.length > 0 && open.every(isFirst(boot));
  }

  broken(invariant: Rule, message: string): void {
    this.world.fail(new Violation(invariant, message));
  }

  /** What the judge has found. */
  found({ breaches, rare }: Findings<Rule>): void {
    for (const name of rare) this.world.journalist.saw(name);
    for (const { rule, text } of breaches) this.broken(rule, text);
  }
}

/** What is asked of the platform; of a connection the address is empty. */
export interface Question {
  readonly code: string;
  readonly kind: "read" | "post";
  readonly address: string;
}

/** What a rule sent in an earlier run is only read back, which nothing waits for. */
const isFirst =
  (boot: number) =>
  ({ word, rule, boot: own }: Ask): boolean =>
    word === "stop" || (rule !== null && own === boot);

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

  protected broken(invariant: Rule, message: string): void {
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
