import { secretValues } from "./load.js";
import { isLoopback } from "../runtime/sockets.js";
import { nothingSaid } from "../settings/sections/controllers.js";
import { formatPath, type Path } from "../settings/problem.js";
import { asDraft } from "../settings/draft.js";
import { countsAtOnce } from "./at-once.js";
import { features } from "./features.js";
import type { Configuration } from "./schema.js";

/** A program that rotates a token every minute must not make every line of the log cost more and more. */
const mostSecrets = 200;

/** What a reload did, by the names of the keys and never by their values. */
interface Reloaded {
  readonly applied: readonly string[];
  readonly needRestart: readonly string[];
}

/** What of the rules of commands is not configured, or not alone. */
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

/** The configuration as it is in force: that of the start, with what was reloaded since. */
export class LiveSettings {
  readonly #listeners = new Set<(reloaded: Reloaded) => void>();
  #current: Configuration;
  readonly #ofStart: readonly string[];
  #secrets: readonly string[];
  readonly #switchListeners = new Set<() => void>();
  /** What an operator chose for this run, in the place of `commands.read_only`; null where nobody did. */
  #chosen: { readonly readOnly: boolean; readonly by: string | null } | null = null;
  #isChoiceKept = false;
  /** The place of the newest choice that was asked for. */
  #asked = 0;
  /** The place of what counts: of a choice, or of the file that was read again after all before it. */
  #counting = 0;
  readonly #forced: { readonly because: string; readonly holds: () => boolean }[] = [];
  #otherBridge = false;
  /** The newest answer about the rules, and by what was configured then. */
  #told: { readonly of: Configuration["commands"]; readonly rules: RulesInForce } | null = null;

  constructor(configuration: Configuration) {
    this.#current = configuration;
    this.#ofStart = secretValues(configuration);
    this.#secrets = this.#ofStart;
  }

  /** All that must not be shown: also what a reload replaced, or what it will be replaced with at the next start. */
  get secrets(): readonly string[] {
    return this.#secrets;
  }

  /** As it was read, with what counts at once as it is now. */
  get configured(): Configuration {
    return this.#current;
  }

  /** The same as it rules commands now. */
  get current(): Configuration {
    const { read_only } = this.commandRules();
    if (read_only === this.#current.commands.read_only) return this.#current;
    return { ...this.#current, commands: { ...this.#current.commands, read_only } };
  }

  /**
   * What rules a command: as configured, as an operator chose for this run, and as the program found. Of `read_only` also what is
   * configured, as what the program gave itself keeps back nothing that a rule sends.
   */
  readonly commandRules = (): RulesInForce => {
    const { commands } = this.#current;
    const { forcedBecause, readOnlyBecause } = this;
    const readOnlyForRules = this.#chosen?.readOnly ?? commands.read_only;
    const read_only = forcedBecause !== null || readOnlyForRules;
    const standing = { read_only, readOnlyForRules, readOnlyBecause, otherBridge: this.#otherBridge };
    // Asked every few seconds by each account of a fleet, and hardly ever another answer.
    const { of, rules } = this.#told ?? {};
    if (rules !== undefined && of === commands && isStanding(rules, standing)) return rules;
    this.#told = { of: commands, rules: { ...commands, ...standing } };
    return this.#told.rules;
  };

  /** Why the bridge is read-only although that is not configured; null where it is not. */
  get readOnlyBecause(): string | null {
    if (this.forcedBecause !== null) return this.forcedBecause;
    if (this.#chosen?.readOnly !== true) return null;
    return "operator";
  }

  /** Why the program itself refuses commands, which nobody can switch off; null where it does not. */
  get forcedBecause(): string | null {
    for (const { because, holds } of this.#forced) if (holds()) return because;
    return null;
  }

  /** The place of a choice among all: one that comes after another counts after it, however long the disk takes with either. */
  placeOfChoice(): number {
    this.#asked += 1;
    return this.#asked;
  }

  /**
   * For this run, whatever the file says; a file that is changed afterwards and read again counts again. False where something newer
   * counts already.
   */
  chooseReadOnly(readOnly: boolean, by: string | null, place = this.placeOfChoice()): boolean {
    if (place < this.#counting) return false;
    this.#counting = place;
    this.#chosen = { readOnly, by };
    this.#isChoiceKept = false;
    for (const listener of this.#switchListeners) listener();
    return true;
  }

  /** The journal has the choice of that place. */
  choiceKept(place: number): void {
    if (place === this.#counting) this.#isChoiceKept = true;
  }

  /**
   * What was chosen where the bridge ran last goes before what was chosen here; that commands pass is taken over from nobody, and what
   * forbids here and no journal has yet stays.
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

  /** Refuses commands whenever `holds`, whatever the file says. Of several reasons that hold the first is told. */
  forceReadOnly(because: string, holds: () => boolean = () => true): void {
    this.#forced.push({ because, holds });
  }

  /** Whether another bridge works for the same account: as long as one does, nothing but a stop is taken. */
  noteOtherBridge(isThere: boolean): void {
    this.#otherBridge = isThere;
  }

  onReload(listener: (reloaded: Reloaded) => void): void {
    this.#listeners.add(listener);
  }

  /**
   * A bridge that ran by these settings has ended. An account of a fleet that starts again does so by the same ones: who listened in the
   * run before is gone, and why it refused commands says nothing of the next one. What an operator chose stays.
   */
  endRun(): void {
    this.#listeners.clear();
    this.#switchListeners.clear();
    this.#forced.length = 0;
    this.#otherBridge = false;
  }

  /** Of the next run in this process, by another configuration: what an operator chose and what must not be shown stay, what waits for the disk does not. */
  follow(next: Configuration): LiveSettings {
    const live = new LiveSettings(next);
    const known = new Set([...live.#ofStart, ...this.#secrets]);
    live.#secrets = [...known].slice(0, live.#ofStart.length + mostSecrets);
    live.#chosen = this.#chosen;
    live.#isChoiceKept = this.#isChoiceKept;
    this.#counting = this.placeOfChoice();
    return live;
  }

  /** Takes over what can change, and tells the rest by name: that takes a new run, and is told again the next time. */
  reload(next: Configuration): Reloaded {
    const known = new Set([...this.#ofStart, ...secretValues(next), ...this.#secrets]);
    this.#secrets = [...known].slice(0, this.#ofStart.length + mostSecrets);
    const needRestart = keysForRun(this.#current, next);
    const applied = changedKeys(this.#current, next).filter((key) => !needRestart.includes(key));
    if (applied.includes("commands.read_only")) {
      this.#chosen = null;
      this.#counting = this.placeOfChoice();
    }
    this.#current = withLiveKeys(this.#current, next);
    const reloaded = { applied, needRestart };
    for (const listener of this.#listeners) listener(reloaded);
    return reloaded;
  }
}

/** The keys that differ and take a new run. */
export const keysForRun = (before: Configuration, next: Configuration): readonly string[] =>
  changedPaths(...alike(before, next))
    .filter((path) => !(countsAtOnce(path) || isShownInOrder(path)) || isOfPage(path, before, next))
    .map(formatPath);

/** The one, with what the other says at keys that count at once. */
export function withLiveKeys(before: Configuration, next: Configuration): Configuration {
  const taken = taking(...alike(before, next), []) as Configuration;
  const { http, groups, scenes } = before;
  const keepsUsers = http !== false && taken.http !== false && !hasSamePage(before, next);
  return {
    ...taken,
    ...(keepsUsers && { http: { ...taken.http, users: http.users } }),
    // Their members may be actuators that are not there before the next run.
    ...(keysForRun(before, next).length > 0 && !hasSoundGroups(taken) && { groups, scenes }),
  };
}

const hasSoundGroups = (configuration: Configuration): boolean =>
  features.groups.errors(asDraft(configuration)).length === 0;

/** What counts at once, and still waits for the keys that take a new run. */
export function waitingKeys(before: Configuration, next: Configuration): readonly string[] {
  const taken = withLiveKeys(before, next);
  const ofRun = keysForRun(taken, next);
  return changedKeys(taken, next).filter((key) => !ofRun.includes(key));
}

/** A name of a person may be one that every object inherits. */
const ownOf = (section: Readonly<Record<string, unknown>>, name: string): unknown =>
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

/** Where all controllers are mirrored, one that the file does not have is as one of which it says nothing. */
function alike(before: Configuration, next: Configuration): readonly [Configuration, Configuration] {
  if (before.mirror !== "all" || next.mirror !== "all") return [before, next];
  return [withAllOf(before, next), withAllOf(next, before)];
}

function withAllOf(one: Configuration, other: Configuration): Configuration {
  const missing = Object.keys(other.controllers).filter((code) => !Object.hasOwn(one.controllers, code));
  if (missing.length === 0) return one;
  const added = Object.fromEntries(missing.map((code) => [code, nothingSaid]));
  return { ...one, controllers: { ...one.controllers, ...added } };
}

const isOfPage = (path: Path, before: Configuration, next: Configuration): boolean =>
  formatPath(path) === "http.users" && !hasSamePage(before, next);

/** With the first users, or without the last ones, a page may begin to be served or end. */
const hasSamePage = ({ http: before }: Configuration, { http: next }: Configuration): boolean =>
  before !== false &&
  next !== false &&
  (isLoopback(before.host) ||
    before.ingress.enabled ||
    (before.users.length === 0) === (next.users.length === 0));

/** All that differs, by the deepest names that both sides know: `controllers.GH-0001.name`. */
export const changedKeys = (before: Configuration, next: Configuration): readonly string[] =>
  changedPaths(...alike(before, next)).map(formatPath);

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

/** What the page shows as the file has it. */
const isShownInOrder = (path: Path): boolean =>
  path[0] === "controllers" && (path.length === 1 || (path.length === 3 && path[2] === "actuators"));

/** Whether what both have comes in another order. */
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
