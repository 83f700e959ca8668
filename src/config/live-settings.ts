import { secretValues } from "./load.js";
import { isLoopback } from "../runtime/sockets.js";
import { nothingElseSaid, nothingSaid } from "../settings/sections/controllers.js";
import { formatPath, type Path } from "../settings/problem.js";
import { asDraft } from "../settings/draft.js";
import { countsAtOnce } from "./at-once.js";
import { features } from "./features.js";
import type { Configuration } from "./schema.js";

/**
 * Most secrets remembered from reloads, so that a token rotated every minute does not make each line of the log cost
 * more and more.
 */
const mostSecrets = 200;

/** What a reload did: names of keys, never their values. */
interface Reloaded {
  readonly applied: readonly string[];
  readonly needRestart: readonly string[];
}

/** Rules of commands that do not come from the configuration, or not from it alone. */
interface Standing {
  readonly read_only: boolean;
  readonly readOnlyForRules: boolean;
  readonly readOnlyBecause: string | null;
  readonly otherBridge: boolean;
}

type RulesInForce = Omit<Configuration["commands"], keyof Standing> & Standing;

const isStanding = (known: Standing, now: Standing): boolean =>
  known.read_only === now.read_only &&
  known.readOnlyForRules === now.readOnlyForRules &&
  known.readOnlyBecause === now.readOnlyBecause &&
  known.otherBridge === now.otherBridge;

/** Whether the run shows a sensor under this id with or without a section that says no more than `from`. */
export type KnowsSensor = (code: string, id: string, from: string) => boolean;

const knowsNone: KnowsSensor = () => false;

/** The configuration in force: that of the start, with what was reloaded since. */
export class LiveSettings {
  readonly #listeners = new Set<(reloaded: Reloaded) => void>();
  #current: Configuration;
  readonly #ofStart: readonly string[];
  #secrets: readonly string[];
  readonly #switchListeners = new Set<() => void>();
  /** What an operator chose for this run instead of `commands.read_only`; null if nobody did. */
  #chosen: { readonly readOnly: boolean; readonly by: string | null } | null = null;
  #isChoiceKept = false;
  /** The number of the newest choice that was asked for. */
  #asked = 0;
  /** The number of what is in force: a choice, or a file that was read after all choices before it. */
  #counting = 0;
  readonly #forced: { readonly because: string; readonly holds: () => boolean }[] = [];
  #otherBridge = false;
  /** The last answer about the rules, and the configuration that it was for. */
  #told: { readonly of: Configuration["commands"]; readonly rules: RulesInForce } | null = null;

  constructor(configuration: Configuration) {
    this.#current = configuration;
    this.#ofStart = secretValues(configuration);
    this.#secrets = this.#ofStart;
  }

  /** Everything that must not be shown, also what a reload replaced or what the next start will use. */
  get secrets(): readonly string[] {
    return this.#secrets;
  }

  /** The configuration as it was read, with the present values of keys that count at once. */
  get configured(): Configuration {
    return this.#current;
  }

  /** The same, with `read_only` as it now holds. */
  get current(): Configuration {
    const { read_only } = this.commandRules();
    if (read_only === this.#current.commands.read_only) return this.#current;
    return { ...this.#current, commands: { ...this.#current.commands, read_only } };
  }

  /**
   * The rules for commands: as configured, as an operator chose for this run, and as the program found.
   * `readOnlyForRules` leaves out the program's own reasons, which hold back nothing that a rule sends.
   */
  readonly commandRules = (): RulesInForce => {
    const { commands } = this.#current;
    const { forcedBecause, readOnlyBecause } = this;
    const readOnlyForRules = this.#chosen?.readOnly ?? commands.read_only;
    const read_only = forcedBecause !== null || readOnlyForRules;
    const standing = { read_only, readOnlyForRules, readOnlyBecause, otherBridge: this.#otherBridge };
    // Cached, as each account of a fleet asks every few seconds and the answer hardly ever changes.
    const { of, rules } = this.#told ?? {};
    if (rules !== undefined && of === commands && isStanding(rules, standing)) return rules;
    this.#told = { of: commands, rules: { ...commands, ...standing } };
    return this.#told.rules;
  };

  /** Why the bridge is read-only although that is not configured; null if it is not. */
  get readOnlyBecause(): string | null {
    if (this.forcedBecause !== null) return this.forcedBecause;
    if (this.#chosen?.readOnly !== true) return null;
    return "operator";
  }

  /** Why the program itself refuses commands, which nobody can switch off; null if it does not. */
  get forcedBecause(): string | null {
    for (const { because, holds } of this.#forced) if (holds()) return because;
    return null;
  }

  /** The number of a new choice. Of two choices the later one counts, however long the disk takes with either. */
  placeOfChoice(): number {
    this.#asked += 1;
    return this.#asked;
  }

  /**
   * Chooses for this run, whatever the file says, until a file with another `read_only` is read. False if something
   * newer is in force.
   */
  chooseReadOnly(readOnly: boolean, by: string | null, place = this.placeOfChoice()): boolean {
    if (place < this.#counting) return false;
    this.#counting = place;
    this.#chosen = { readOnly, by };
    this.#isChoiceKept = false;
    for (const listener of this.#switchListeners) listener();
    return true;
  }

  /** The journal has the choice with this number. */
  choiceKept(place: number): void {
    if (place === this.#counting) this.#isChoiceKept = true;
  }

  /**
   * Takes up the last choice from where the bridge ran before; it overrides one made here. It can forbid commands but
   * not allow them. A choice made here that forbids them and that no journal has yet stays.
   */
  recall(last: { readonly read_only: boolean; readonly by: string | null } | null): void {
    if (this.#chosen?.readOnly === true && !this.#isChoiceKept) return;
    this.#isChoiceKept = true;
    if (last?.read_only === true) this.#chosen = { readOnly: true, by: last.by };
    else if (last === null || this.#chosen?.readOnly === true) this.#chosen = null;
  }

  onReadOnlyChosen(listener: () => void): void {
    this.#switchListeners.add(listener);
  }

  /** Refuses commands while `holds` is true, whatever the file says. The first reason that holds is the one given. */
  forceReadOnly(because: string, holds: () => boolean = () => true): void {
    this.#forced.push({ because, holds });
  }

  /** Notes whether another bridge works for the same account; while one does, only a stop is taken. */
  noteOtherBridge(isThere: boolean): void {
    this.#otherBridge = isThere;
  }

  onReload(listener: (reloaded: Reloaded) => void): void {
    this.#listeners.add(listener);
  }

  /**
   * A run with these settings has ended, and an account of a fleet starts again with the same object. Listeners of that
   * run and its reasons to refuse commands are dropped; an operator's choice stays.
   */
  endRun(): void {
    this.#listeners.clear();
    this.#switchListeners.clear();
    this.#forced.length = 0;
    this.#otherBridge = false;
  }

  /**
   * Settings for the next run in this process, with another configuration. An operator's choice and known secrets stay;
   * choices that wait for the disk do not.
   */
  follow(next: Configuration): LiveSettings {
    const live = new LiveSettings(next);
    const known = new Set([...live.#ofStart, ...this.#secrets]);
    live.#secrets = [...known].slice(0, live.#ofStart.length + mostSecrets);
    live.#chosen = this.#chosen;
    live.#isChoiceKept = this.#isChoiceKept;
    this.#counting = this.placeOfChoice();
    return live;
  }

  /**
   * Applies what can change while running, and names the other changed keys: they take a new run, and are named again
   * next time.
   */
  reload(next: Configuration, knows = knowsNone): Reloaded {
    const known = new Set([...this.#ofStart, ...secretValues(next), ...this.#secrets]);
    this.#secrets = [...known].slice(0, this.#ofStart.length + mostSecrets);
    const needRestart = keysForRun(this.#current, next, knows);
    const applied = changedKeys(this.#current, next, knows).filter((key) => !needRestart.includes(key));
    if (applied.includes("commands.read_only")) {
      this.#chosen = null;
      this.#counting = this.placeOfChoice();
    }
    this.#current = withLiveKeys(this.#current, next, knows);
    const reloaded = { applied, needRestart };
    for (const listener of this.#listeners) listener(reloaded);
    return reloaded;
  }
}

/** The changed keys that take a new run. */
export const keysForRun = (
  before: Configuration,
  next: Configuration,
  knows = knowsNone,
): readonly string[] =>
  changedPaths(...alike(before, next, knows))
    .filter((path) => !(countsAtOnce(path) || isShownInOrder(path)) || opensOrShuts(path, before, next))
    .map(formatPath);

/** `before`, with the values of `next` at keys that count at once. */
export function withLiveKeys(before: Configuration, next: Configuration, knows = knowsNone): Configuration {
  const taken = taking(...alike(before, next, knows), []) as Configuration;
  const { http, broker, groups, scenes } = before;
  const keepsUsers = http !== false && taken.http !== false && !hasSamePage(before, next);
  return {
    ...taken,
    ...(keepsUsers && { http: { ...taken.http, users: http.users } }),
    ...(!isAsOpen(before, next) && { broker: { ...taken.broker, users: broker.users } }),
    // Their members may be actuators that only the next run has.
    ...(keysForRun(before, next, knows).length > 0 && !hasSoundGroups(taken) && { groups, scenes }),
  };
}

const hasSoundGroups = (configuration: Configuration): boolean =>
  features.groups.errors(asDraft(configuration)).length === 0;

/** Keys that count at once, and still wait for those that take a new run. */
export function waitingKeys(
  before: Configuration,
  next: Configuration,
  knows = knowsNone,
): readonly string[] {
  const taken = withLiveKeys(before, next, knows);
  const ofRun = keysForRun(taken, next, knows);
  return changedKeys(taken, next, knows).filter((key) => !ofRun.includes(key));
}

/** A user may choose a name that every object inherits. */
const ownOf = <Value>(section: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(section, name) ? section[name] : undefined;

function taking(before: unknown, next: unknown, path: Path): unknown {
  if (countsAtOnce(path)) return next;
  if (!isSection(before) || !isSection(next)) return before;
  const names = new Set([...Object.keys(next), ...Object.keys(before)]);
  const entries = [...names].map(
    (name) => [name, taking(ownOf(before, name), ownOf(next, name), [...path, name])] as const,
  );
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/**
 * If all controllers are mirrored, one that the file lacks equals one about which it says nothing. So does a sensor that the
 * run shows under that id without the file.
 */
function alike(
  before: Configuration,
  next: Configuration,
  knows: KnowsSensor,
): readonly [Configuration, Configuration] {
  const isAll = before.mirror === "all" && next.mirror === "all";
  const [one, other] = isAll ? [withAllOf(before, next), withAllOf(next, before)] : [before, next];
  return [withSensorsOf(one, other, knows), withSensorsOf(other, one, knows)];
}

function withSensorsOf(one: Configuration, other: Configuration, knows: KnowsSensor): Configuration {
  const more = Object.entries(knows === knowsNone ? {} : one.controllers).flatMap(([code, controller]) => {
    const sensors = ownOf(other.controllers, code)?.sensors ?? {};
    const missing = Object.entries(sensors).filter(
      ([id, { from }]) => !Object.hasOwn(controller.sensors, id) && knows(code, id, from),
    );
    if (missing.length === 0) return [];
    const added = Object.fromEntries(missing.map(([id, { from }]) => [id, nothingElseSaid(from)]));
    return [[code, { ...controller, sensors: { ...controller.sensors, ...added } }] as const];
  });
  return more.length === 0
    ? one
    : { ...one, controllers: { ...one.controllers, ...Object.fromEntries(more) } };
}

function withAllOf(one: Configuration, other: Configuration): Configuration {
  const missing = Object.keys(other.controllers).filter((code) => !Object.hasOwn(one.controllers, code));
  if (missing.length === 0) return one;
  const added = Object.fromEntries(missing.map((code) => [code, nothingSaid]));
  return { ...one, controllers: { ...one.controllers, ...added } };
}

/** Whether who may come is the whole reason why a listener is there, or is not open to everybody. */
function opensOrShuts(path: Path, before: Configuration, next: Configuration): boolean {
  const key = formatPath(path);
  return (
    (key === "http.users" && !hasSamePage(before, next)) ||
    (key === "broker.users" && !isAsOpen(before, next))
  );
}

/** Without its last users a broker that others reach must not run on for a moment. */
const isAsOpen = ({ broker: before }: Configuration, { broker: next }: Configuration): boolean =>
  isLoopback(before.host) || (before.users.length === 0) === (next.users.length === 0);

/**
 * Whether a change of users leaves the page as it is: the first ones, or the removal of the last, may begin or end it.
 */
const hasSamePage = ({ http: before }: Configuration, { http: next }: Configuration): boolean =>
  before !== false &&
  next !== false &&
  (isLoopback(before.host) ||
    before.ingress.enabled ||
    (before.users.length === 0) === (next.users.length === 0));

/** All that differs, by the deepest names that both sides have: `controllers.GH-0001.name`. */
export const changedKeys = (
  before: Configuration,
  next: Configuration,
  knows = knowsNone,
): readonly string[] => changedPaths(...alike(before, next, knows)).map(formatPath);

function changedPaths(before: unknown, next: unknown, path: Path = []): readonly Path[] {
  if (isSection(before) && isSection(next)) {
    const names = new Set([...Object.keys(before), ...Object.keys(next)]);
    const inner = [...names]
      .sort()
      .flatMap((name) => changedPaths(ownOf(before, name), ownOf(next, name), [...path, name]));
    return isShownInOrder(path) && isMoved(before, next) ? [path, ...inner] : inner;
  }
  return JSON.stringify(before) === JSON.stringify(next) ? [] : [path];
}

/** Sections that the page shows in the order of the file. */
const isShownInOrder = (path: Path): boolean =>
  path[0] === "controllers" && (path.length === 1 || (path.length === 3 && path[2] === "actuators"));

/** Whether the names that both have come in another order. */
function isMoved(before: Section, next: Section): boolean {
  const common = (one: Section, other: Section) =>
    Object.keys(one).filter((name) => Object.hasOwn(other, name) && !isFilledIn(one, other, name));
  return common(before, next).join("\n") !== common(next, before).join("\n");
}

const isFilledIn = (one: Section, other: Section, name: string): boolean =>
  one[name] === nothingSaid || other[name] === nothingSaid;

type Section = Readonly<Record<string, unknown>>;

const isSection = (value: unknown): value is Section =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What the bridge may do, for the log of a start. */
export function mayDo({ read_only: readOnly, dry_run: dryRun }: Configuration["commands"]): string {
  if (readOnly) return "read-only: every command is refused";
  if (dryRun) return "dry run: commands are checked, and nothing is sent";
  return "commands are taken and sent to the platform";
}
