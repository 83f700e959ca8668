import { secretValues } from "./load.js";
import { isLoopback } from "../runtime/sockets.js";
import { formatPath, type Path } from "../settings/problem.js";
import type { Configuration } from "./schema.js";

/** Where a value may change while the bridge runs; each is looked up whenever it is used. */
export const reloadableKeys: ReadonlySet<string> = new Set([
  "log.level",
  "commands.read_only",
  "commands.dry_run",
  "commands.max_age",
  "commands.require_age",
  "commands.require_by",
  "http.token",
  "http.allowed_hosts",
  "http.users",
  "http.settings",
  "http.overview",
  "updates",
]);

/** A program that rotates a token every minute must not make every line of the log cost more and more. */
const mostSecrets = 200;

/** What a reload did, by the names of the keys and never by their values. */
interface Reloaded {
  readonly applied: readonly string[];
  readonly needRestart: readonly string[];
}

/** The configuration as it is in force: that of the start, with what was reloaded since. */
export class LiveSettings {
  readonly #listeners = new Set<(reloaded: Reloaded) => void>();
  #current: Configuration;
  readonly #ofStart: readonly string[];
  #secrets: readonly string[];
  readonly #switchListeners = new Set<() => void>();
  /** What an operator chose for this run, in the place of `commands.read_only`; null where nobody did. */
  #chosen: { readonly readOnly: boolean; readonly by: string | null } | null = null;
  /** The place of the newest choice that was asked for. */
  #asked = 0;
  /** The place of what counts: of a choice, or of the file that was read again after all before it. */
  #counting = 0;
  readonly #forced: { readonly because: string; readonly holds: () => boolean }[] = [];
  #otherBridge = false;

  constructor(configuration: Configuration) {
    this.#current = configuration;
    this.#ofStart = secretValues(configuration);
    this.#secrets = this.#ofStart;
  }

  /** All that must not be shown: also what a reload replaced, or what it will be replaced with at the next start. */
  get secrets(): readonly string[] {
    return this.#secrets;
  }

  get current(): Configuration {
    const { read_only } = this.commandRules();
    if (read_only === this.#current.commands.read_only) return this.#current;
    return { ...this.#current, commands: { ...this.#current.commands, read_only } };
  }

  /**
   * What rules a command: as configured, as an operator chose for this run, and as the program found. Of `read_only` also what is
   * configured, as what the program gave itself keeps back nothing that a rule sends.
   */
  readonly commandRules = (): Configuration["commands"] & {
    readonly readOnlyForRules: boolean;
    readonly readOnlyBecause: string | null;
    readonly otherBridge: boolean;
  } => {
    const readOnlyForRules = this.#chosen?.readOnly ?? this.#current.commands.read_only;
    const read_only = this.forcedBecause !== null || readOnlyForRules;
    const { readOnlyBecause } = this;
    const standing = { readOnlyForRules, readOnlyBecause, otherBridge: this.#otherBridge };
    return { ...this.#current.commands, read_only, ...standing };
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
    for (const listener of this.#switchListeners) listener();
    return true;
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
    this.#counting = this.placeOfChoice();
    return live;
  }

  /** Takes over what can change, and tells the rest by name: that takes a new run, and is told again the next time. */
  reload(next: Configuration): Reloaded {
    const known = new Set([...this.#ofStart, ...secretValues(next), ...this.#secrets]);
    this.#secrets = [...known].slice(0, this.#ofStart.length + mostSecrets);
    const changed = changedKeys(this.#current, next);
    const needRestart = keysForRun(this.#current, next);
    const applied = changed.filter((key) => !needRestart.includes(key));
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
  changedKeys(before, next).filter(
    (key) => !reloadableKeys.has(key) || (key === "http.users" && !hasSamePage(before, next)),
  );

/** The one, with what the other says at keys that count at once. */
export function withLiveKeys(before: Configuration, next: Configuration): Configuration {
  const { read_only, dry_run, max_age, require_age, require_by } = next.commands;
  const { http } = before;
  return {
    ...before,
    updates: next.updates,
    log: { ...before.log, level: next.log.level },
    commands: { ...before.commands, read_only, dry_run, max_age, require_age, require_by },
    http:
      next.http === false
        ? http
        : http && {
            ...http,
            token: next.http.token,
            allowed_hosts: next.http.allowed_hosts,
            users: hasSamePage(before, next) ? next.http.users : http.users,
            settings: next.http.settings,
            overview: next.http.overview,
          },
  };
}

/** With the first users, or without the last ones, a page may begin to be served or end. */
const hasSamePage = ({ http: before }: Configuration, { http: next }: Configuration): boolean =>
  before !== false &&
  next !== false &&
  (isLoopback(before.host) || (before.users.length === 0) === (next.users.length === 0));

/** Paths of all values that differ, deepest names that both sides know: `controllers.GH-0001.name`. */
export function changedKeys(before: unknown, next: unknown, path: Path = []): readonly string[] {
  if (isSection(before) && isSection(next)) {
    const names = new Set([...Object.keys(before), ...Object.keys(next)]);
    const inner = [...names].sort().flatMap((name) => changedKeys(before[name], next[name], [...path, name]));
    return isShownInOrder(path) && isMoved(before, next) ? [formatPath(path), ...inner] : inner;
  }
  return JSON.stringify(before) === JSON.stringify(next) ? [] : [formatPath(path)];
}

/** What the page shows as the file has it. */
const isShownInOrder = (path: Path): boolean =>
  path[0] === "controllers" && (path.length === 1 || (path.length === 3 && path[2] === "actuators"));

/** Whether what both have comes in another order. */
function isMoved(before: object, next: object): boolean {
  const common = (one: object, other: object) =>
    Object.keys(one).filter((name) => Object.hasOwn(other, name));
  return common(before, next).join("\n") !== common(next, before).join("\n");
}

const isSection = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What the bridge may do, for the log of a start. */
export function mayDo({ read_only: readOnly, dry_run: dryRun }: Configuration["commands"]): string {
  if (readOnly) return "read-only: every command is refused";
  if (dryRun) return "dry run: commands are checked, and nothing is sent";
  return "commands are taken and sent to the platform";
}
