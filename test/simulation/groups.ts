import type { CommandRequest } from "../../src/commands/command.js";
import { features } from "../../src/config/features.js";
import { kindRows, type KindRow } from "../../src/greenhouse/actuator-kinds.js";
import { vocabulary } from "../../src/greenhouse/command/words.js";
import type { GroupOrScene, GroupResult } from "../../src/greenhouse/groups.js";
import type { IncomingMessage } from "../../src/mqtt/connection/settings.js";
import type { Ask, Boot } from "../judge/history.js";
import { Check } from "./judging.js";
import { Chance } from "./scenario.js";
import type { World } from "./world.js";

/* Commands to several actuators at once, through all accidents of the bridge, and their one result. */

/** One delivery of a command to a group or scene. */
interface GroupAsk {
  /** A unique tag for each delivery. */
  readonly by: string;
  readonly at: number;
  readonly boot: Boot;
  readonly message: GroupMessage;
  /** The commands to its members. */
  readonly members: Ask[];
  readonly results: GroupResult[];
}

interface GroupMessage {
  readonly kind: GroupOrScene;
  readonly name: string;
  readonly word: string;
  readonly ownId: string | null;
}

/** Groups of commandable actuators of one kind, from the lines of a configuration. */
export function groupLines(chance: Chance, lines: readonly string[]): readonly string[] {
  if (!chance.hits(0.6)) return [];
  const byKind = new Map<KindRow, { readonly member: string; readonly word: string }[]>();
  let code = "";
  for (const line of lines) {
    code = /^ {2}(GH-\d+):/.exec(line)?.[1] ?? code;
    const [, id, kind = ""] = /^ {6}(\w+): .*?kind: (\w+)/.exec(line) ?? [];
    const row = Object.entries(kindRows).find(([name]) => name === kind)?.[1] as KindRow | undefined;
    const [word] = Object.keys(row?.values ?? {});
    if (id === undefined || row === undefined || word === undefined || line.includes("read_only")) continue;
    byKind.set(row, [...(byKind.get(row) ?? []), { member: `${code}/${id}`, word }]);
  }
  const several = [...byKind.values()].filter((members) => members.length > 1);
  if (several.length === 0) return [];
  const members = chance.of(several).slice(0, 4);
  const word = members[0]?.word ?? "";
  return [
    `groups: { several: { members: [${members.map(({ member }) => member).join(", ")}] } }`,
    `scenes: { night: { commands: { group/several: "${word}" } } }`,
  ];
}

const hourMs = 3_600_000;
/** Nothing is sent in this time before the end, so that everything can end. */
const quietMs = 25 * 60_000;

/** The senders of commands to several actuators: when they send, and how the broker delivers them. */
export class GroupWorkload {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #words: readonly string[];
  #asks = 0;
  #ids = 0;

  constructor(world: World) {
    this.#world = world;
    this.#chance = new Chance(world.scenario.seed, "commands to groups");
    const group = features.groups.read(world.scenario.configuration).groups.get("several");
    const { words, degrees } = group ? vocabulary(group.target) : { words: [], degrees: null };
    this.#words = [...words, ...(degrees === null ? [] : ["25", "60"])];
  }

  begin(): void {
    if (this.#words.length === 0) return;
    const next = () =>
      this.#world.in(this.#chance.gap(hourMs / 8), () => {
        if (this.#world.time.now > this.#world.scenario.lengthMs - quietMs) return;
        this.#send();
        next();
      });
    next();
  }

  #send(): void {
    const chance = this.#chance;
    const isScene = chance.hits(0.2);
    const ownId = chance.hits(0.6) ? `group-${++this.#ids}` : null;
    const place = isScene
      ? ({ kind: "scene", name: "night" } as const)
      : ({ kind: "group", name: "several" } as const);
    const message = { ...place, word: isScene ? "activate" : chance.of(this.#words), ownId };
    this.#handOver(message);
    // QoS 1, or a sender that heard nothing of it: at once, or after a restart.
    if (ownId !== null && chance.hits(0.4))
      this.#world.in(chance.logUniform(10, 1_800_000), () => {
        if (this.#world.time.now < this.#world.scenario.lengthMs - quietMs) this.#handOver(message);
      });
  }

  #handOver(message: GroupMessage): void {
    const { bridge, checks, journalist, accidents, time } = this.#world;
    if (bridge === null || !bridge.isLinked || !bridge.clock.isAlive) return;
    this.#asks += 1;
    const by = `g${this.#asks}`;
    checks.groups.asked({ by, at: time.now, boot: bridge.boot, message, members: [], results: [] });
    journalist.note("ask of several", { by, ...message });
    accidents.asking();
    bridge.receive(packetOf(message, by));
  }
}

function packetOf({ kind, name, word, ownId }: GroupMessage, by: string): IncomingMessage {
  const payload = ownId === null ? word : JSON.stringify({ command: word, id: ownId });
  const topic = `greenhouse/${kind}/${name}/set`;
  return { topic, payload: Buffer.from(payload), retain: false, properties: { by } };
}

/** Whether a request is the command of a group to a member. */
export const isOfGroup = ({ by }: Pick<CommandRequest, "by">): boolean => /^g\d+$/.test(by ?? "");

/** Outcomes after which nothing was sent. */
const unsent: ReadonlySet<string> = new Set(["refused", "already", "dry_run"]);

/** Judges these commands. */
export class GroupChecks extends Check {
  readonly #asks = new Map<string, GroupAsk>();

  asked(ask: GroupAsk): void {
    this.#asks.set(ask.by, ask);
  }

  /** A member gets its command. */
  member(by: string, member: Ask): void {
    const ask = this.#asks.get(by);
    if (ask === undefined) {
      this.broken("S4", `a member is asked for a command to several that nobody gave: ${by}`);
      return;
    }
    const { ownId, kind } = ask.message;
    const isKnown = ({ by: other, boot, message, members }: GroupAsk) =>
      message.ownId === ownId &&
      message.kind === kind &&
      members.length > 0 &&
      (boot === ask.boot || this.#isKept(other));
    // If clocks are set, no run knows how old an id is.
    const isJudged =
      ownId !== null && ask.members.length === 0 && this.world.scenario.clockJumpsPerHour === 0;
    ask.members.push(member);
    const before = isJudged ? [...this.#asks.values()].find((one) => one !== ask && isKnown(one)) : undefined;
    if (before !== undefined)
      this.broken("S4", `${by} asks members once more under the id ${ownId ?? ""} of ${before.by}`);
  }

  #isKept(by: string): boolean {
    return this.world.disk.written.has(`group_taken ${by}`);
  }

  result(result: GroupResult): void {
    const { by, outcome, reason, repeated, members, finished_at: finishedAt } = result;
    const told = members.map(({ controller, actuator, outcome: one }) => `${controller}/${actuator} ${one}`);
    this.world.journalist.note("result of several", { by, outcome, reason, repeated, members: told });
    const ask = this.#asks.get(by ?? "");
    if (ask === undefined) {
      this.broken("S7", `a result for a command to several that nobody gave: ${by ?? "null"}`);
      return;
    }
    const [first] = ask.results;
    ask.results.push(result);
    if (first === undefined) return;
    const isSame = first.outcome === outcome && first.finished_at === finishedAt;
    if (!isSame) this.broken("S7", `${ask.by} has two results: ${first.outcome}, then ${outcome}`);
    else if (!repeated) this.broken("S7", `${ask.by}: its result came again without repeated`);
    else this.saw("a result of several repeated");
  }

  /** Checks long after every fault has gone. */
  atTheEnd(): void {
    for (const ask of this.#asks.values()) {
      const [result] = ask.results;
      if (result !== undefined) this.#judge(ask, result);
      else if (this.#isKept(ask.by) || ask.boot === this.world.bridge?.boot)
        this.broken("L1", `${ask.by} to ${ask.message.name} has no result`);
      else this.saw("a command to several of which nothing was kept");
    }
  }

  #judge(ask: GroupAsk, result: GroupResult): void {
    const isLater = result.members.length > 0 && this.#endedIn(result) !== ask.boot;
    if (isLater) this.saw("a result of several after a restart");
    for (const { controller, actuator, outcome } of result.members) {
      const member = ask.members.find(
        (one) => one.code.toLowerCase() === controller && one.actuator === actuator,
      );
      const where = `${ask.by}: ${controller}/${actuator}`;
      if (member === undefined) {
        if (outcome !== "refused" && ask.message.word !== "stop")
          this.broken("S7", `${where} is ${outcome} and was never asked`);
        continue;
      }
      const own = member.results[0]?.result.outcome;
      if (own === undefined) {
        this.saw("a member of several that has no result of its own");
        if (unsent.has(outcome) && member.posts.length > 0)
          this.broken("S7", `${where} is ${outcome} and was sent`);
      } else if (own !== outcome && !isFoundAgain(member))
        this.broken("S7", `${where} is ${own}, and ${outcome} in the result of all`);
    }
  }

  #endedIn({ finished_at: finishedAt }: GroupResult): Boot | null {
    const { journalist, platformNow, time } = this.world;
    const at = Date.parse(finishedAt) - (platformNow - time.now);
    return [...journalist.startedAt].findLast(([, from]) => from <= at)?.[0] ?? null;
  }
}

/** A result that the journal could not write in time is found out again by the next start. */
const isFoundAgain = ({ word, dryRun, results: [first] }: Ask): boolean =>
  dryRun || (word === "stop" && first?.isJournaled !== true);
