import type { Configuration } from "../../src/config/schema.js";
import type { Ask, Findings, History } from "../judge/history.js";
import type { Rule } from "../judge/rules.js";
import { historyOf } from "./as-history.js";
import { Violation } from "./history.js";
import type { World } from "./world.js";

/** Finds the command of each POST from the reported phases; keys are `GH-0001/roof`. */
export class PostBook {
  readonly world: World;
  readonly history: History;
  /** The command that last reported sending, by actuator. */
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

  /** The command to which a POST to this address must belong. */
  sender(code: string, address: string): Ask | null {
    return this.senders.get(this.#owners.get(`${code}/${address}`) ?? "") ?? null;
  }

  /**
   * Whether a question to the platform can only belong to a stop or a rule, by the reported phases. The second look at
   * a confirmed value comes without an open command, so reads of what travels never count as such.
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

  /** Takes over the judge's findings. */
  found({ breaches, rare }: Findings<Rule>): void {
    for (const name of rare) this.world.journalist.saw(name);
    for (const { rule, text } of breaches) this.broken(rule, text);
  }
}

/** A question to the platform; for the connection the address is empty. */
export interface Question {
  readonly code: string;
  readonly kind: "read" | "post";
  readonly address: string;
}

/** A rule's command of an earlier run is only read back, and nothing waits for that. */
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

/** Watches some rules of the contract. */
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

  /** Counts a rare path that was taken. */
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
