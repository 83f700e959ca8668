import { createHash } from "node:crypto";
import { duplicateRefusal, retainedRefusal } from "../commands/intake.js";
import { claimedId, payloadKey, readPayload } from "../commands/payload.js";
import type { CommandRequest, ResultAddressee } from "../commands/command.js";
import { type CommandListener, incomingCommand, isAnswered } from "../commands/service.js";
import { suggestion } from "../runtime/similar-words.js";
import type { CommandResult, Refusal, Via } from "../greenhouse/command/outcomes.js";
import {
  type Group,
  type GroupResult,
  type GroupState,
  groupState,
  type Member,
  memberName,
  type MemberResult,
  summaryOf,
  type GroupsAndScenes,
  type GroupOrScene,
} from "../greenhouse/groups.js";
import type { Actuator, Controller } from "../greenhouse/model.js";
import { topicIdPattern } from "../greenhouse/topic-ids.js";
import type { FloodListener, IncomingMessage } from "../mqtt/connection/settings.js";
import type { Outbox } from "../mqtt/outbox.js";
import { incomingOn, type Topics } from "../mqtt/topics.js";
import { forgetOldest } from "../runtime/table.js";
import type { Clock } from "../runtime/clock.js";
import type { GreenhouseStore } from "../sync/store.js";

/** The allowance of those that do not exist. */
const unknownGroups = "commands to groups that do not exist";

function isStop(payload: Buffer): boolean {
  const read = readPayload(payload);
  return "command" in read && read.command.toLowerCase() === "stop";
}

/** A command to a group or scene, as it arrives. */
export interface GroupRequest extends Pick<
  CommandRequest,
  "payload" | "retained" | "expiryMs" | "ageMs" | "by" | "via" | "response"
> {
  readonly kind: GroupOrScene;
  readonly id: string;
}

/** A command to several that has been handed to each, until each has ended. */
export interface Running {
  readonly kind: GroupOrScene;
  readonly about: string;
  readonly id: string;
  readonly command: string | null;
  readonly by: string | null;
  readonly via: Via;
  readonly receivedAt: number;
  /** Of the payload: another one under the same id is another command. */
  readonly key: string;
  readonly response: GroupRequest["response"];
  /** By the place and id of each member's own command. */
  readonly open: Map<string, Member>;
  readonly ended: MemberResult[];
}

interface GroupPorts {
  readonly groupsAndScenes: GroupsAndScenes;
  readonly topics: Topics;
  readonly store: Pick<GreenhouseStore, "get" | "onChange">;
  readonly submit: (request: CommandRequest) => { readonly id: string; readonly isTaken: boolean };
  readonly outbox: Pick<Outbox, "send">;
  /** The keeper of retained topics. */
  readonly retained: { wanted(topic: string, payload: string): void };
  /** `commands.response_topics`. */
  readonly responseTopics: () => readonly string[];
  readonly clock: Pick<Clock, "now">;
  readonly newId: () => string;
}

/** Results that the page and the API can ask for afterwards. */
const mostKept = 200;
/** What sets off a scene; the second is what Home Assistant sends. */
const sceneWords: ReadonlySet<string> = new Set(["activate", "on"]);

const placeOf = (controllerId: string, actuator: string, id: string): string =>
  `${controllerId} ${actuator} ${id}`;

/**
 * Hands a command for several to each of them, by the way that every command takes, and tells in one result how each went. It decides
 * nothing about a member's command, and shows of a group what the platform has shown of its members.
 */
export class GroupService implements CommandListener {
  readonly groupsAndScenes: GroupsAndScenes;
  /** Without any nobody has to tell it of commands. */
  readonly hasSome: boolean;
  readonly #ports: GroupPorts;
  readonly #running = new Set<Running>();
  readonly #results = new Map<string, { readonly result: GroupResult; readonly key: string }>();
  /** The newest of each group and scene. */
  readonly #last = new Map<string, GroupResult>();
  readonly #shown = new Map<string, GroupState>();
  /** Topics whose retained command was answered on this connection. */
  readonly #retainedAnswered = new Set<string>();

  constructor(ports: GroupPorts) {
    this.#ports = ports;
    this.groupsAndScenes = ports.groupsAndScenes;
    const ofCode = groupsByCode(ports.groupsAndScenes);
    const { groups, scenes } = ports.groupsAndScenes;
    this.hasSome = groups.size + scenes.size > 0;
    if (!this.hasSome) return;
    ports.store.onChange((before, after) => {
      const code = (after ?? before)?.info.code ?? "";
      for (const group of ofCode.get(code) ?? []) this.#show(group, before, after);
    });
    for (const group of groups.values()) this.#show(group);
  }

  onDisconnected(): void {
    this.#retainedAnswered.clear();
  }

  /** What an earlier run retained of a group that there is no more, or not with this state. */
  onFound(topic: string, payload: Uint8Array): void {
    const { topics, retained } = this.#ports;
    const own = `${topics.base}/group/`;
    // What the other parts asked to be shown comes here too.
    if (!topic.startsWith(own)) return;
    const [id = "", leaf = ""] = topic.slice(own.length).split("/");
    const isPosition = leaf === "position" && (this.#shown.get(id)?.position ?? null) === null;
    if (payload.length > 0 && (isPosition || !this.groupsAndScenes.groups.has(id)))
      retained.wanted(topic, "");
  }

  /** Takes the messages on the topics of groups and scenes. */
  /** What exceeds it gets no answer: each member would be overloaded. */
  readonly flood: FloodListener = {
    allowanceOf: (topic) => {
      const asked = incomingOn(this.#ports.topics, topic);
      if (asked?.type !== "group") return null;
      const { groups, scenes } = this.groupsAndScenes;
      const isKnown = (asked.kind === "group" ? groups : scenes).has(asked.id);
      return isKnown ? { key: topic, isUrgent: isStop } : { key: unknownGroups, isUrgent: null };
    },
    onSurplus: () => undefined,
  };

  onMessage(message: IncomingMessage): boolean {
    const { topics, responseTopics } = this.#ports;
    const asked = incomingOn(topics, message.topic);
    if (asked?.type !== "group") return false;
    const { kind, id } = asked;
    if (!topicIdPattern.test(id) || isAnswered(message, this.#retainedAnswered)) return true;
    const place = { type: "command", controllerId: kind, target: "actuator", id } as const;
    const rules = { topics, responseTopics: responseTopics() };
    this.submit({ ...incomingCommand(message, place, rules), kind, id });
    return true;
  }

  /** Hands it to the members; tells the id it goes by, and the result where it was refused as a whole. */
  submit(request: GroupRequest): { readonly id: string; readonly refused: GroupResult | null } {
    const { clock, newId } = this.#ports;
    const { kind, id: about, by, via, response } = request;
    const read = readPayload(request.payload);
    const isRead = "command" in read;
    const running: Running = {
      kind,
      about,
      via,
      response,
      open: new Map(),
      ended: [],
      receivedAt: clock.now(),
      id: (isRead ? read.id : claimedId(request.payload)) ?? newId(),
      command: isRead ? read.command : null,
      by: (isRead ? read.by : null) ?? by,
      key: payloadKey(request.payload),
    };
    const commands = this.#commandsOf(request);
    const refusal = "reason" in commands ? commands : isRead ? this.#refusal(request, running) : read;
    if (refusal !== null) return { id: running.id, refused: this.#end(running, refusal) };
    if (!("reason" in commands) && isRead) this.#handOut(running, commands, request, read.id);
    return { id: running.id, refused: null };
  }

  /** What each member is sent; null for what the request says. */
  #commandsOf({ kind, id }: GroupRequest): readonly MemberCommand[] | Refusal {
    const { groups, scenes } = this.groupsAndScenes;
    const found =
      kind === "group"
        ? groups.get(id)?.members.map((member) => ({ member, command: null }))
        : scenes.get(id)?.commands;
    if (found !== undefined) return found;
    const names = [...(kind === "group" ? groups : scenes).keys()];
    const message = `There is no ${kind} "${id}" in the configuration${suggestion(id, names) || "."}`;
    return { reason: "unknown_actuator", message };
  }

  /** Why none of the members is asked. */
  #refusal({ kind, retained }: GroupRequest, { id, about, command, key }: Running): Refusal | null {
    if (retained) return retainedRefusal;
    if (kind === "scene" && !sceneWords.has(command?.toLowerCase() ?? ""))
      return { reason: "unknown_command", message: "A scene has commands of its own; send it activate." };
    const before = this.#earlier({ kind, about, id });
    return before === null ? null : duplicateRefusal({ first: before, isSame: before.key === key });
  }

  /** The command that has this id already: under way, or ended in this run. */
  #earlier({ kind, about, id }: Pick<Running, "kind" | "about" | "id">) {
    const open = [...this.#running].find((one) => one.kind === kind && one.about === about && one.id === id);
    if (open !== undefined) return { id, key: open.key, result: null };
    const ended = this.#results.get(id);
    return ended?.result[kind] === about ? { id, ...ended } : null;
  }

  #handOut(
    running: Running,
    commands: readonly MemberCommand[],
    { payload, expiryMs, ageMs, by, via }: GroupRequest,
    ownId: string | null,
  ): void {
    this.#running.add(running);
    for (const { member, command } of commands) {
      const { controllerId, actuator: targetId } = member;
      const { id } = this.#ports.submit({
        controllerId,
        target: "actuator",
        targetId,
        expiryMs,
        ageMs,
        by,
        via,
        retained: false,
        response: null,
        payload: memberPayload(payload, command, ownId === null ? null : `${ownId}/${memberName(member)}`),
      });
      running.open.set(placeOf(controllerId, targetId, id), member);
    }
  }

  /** Where a member's command stands is shown at the member. */
  phase(): void {
    return undefined;
  }

  /** A command has ended, perhaps one of ours. A refusal may come before its sender knows the id, so it is looked for later. */
  result(result: CommandResult, { controllerId, target, targetId }: ResultAddressee): void {
    if (target !== "actuator" || this.groupsAndScenes.groups.size + this.groupsAndScenes.scenes.size === 0)
      return;
    queueMicrotask(() => {
      const place = placeOf(controllerId, targetId, result.id);
      const { id, command, outcome, reason, message, interlock } = result;
      const told = { id, command, outcome, reason, message, interlock };
      for (const running of this.#running) {
        if (!running.open.delete(place)) continue;
        running.ended.push({ controller: controllerId, actuator: targetId, ...told });
        if (running.open.size === 0) this.#end(running, null);
      }
    });
  }

  #end(running: Running, refusal: Refusal | null): GroupResult {
    const { kind, about, id, command, by, via, receivedAt, response } = running;
    const ended = this.#inOrder(running);
    const now = this.#ports.clock.now();
    const original = refusal?.reason === "duplicate" ? this.#earlier(running)?.result : null;
    const result: GroupResult = {
      id,
      group: kind === "group" ? about : null,
      scene: kind === "scene" ? about : null,
      command,
      ...(refusal === null ? summaryOf(ended) : { outcome: "refused", ...refusal, missed: [] }),
      by,
      via,
      members: ended,
      received_at: new Date(receivedAt).toISOString(),
      finished_at: new Date(now).toISOString(),
      duration_ms: Math.max(0, now - receivedAt),
      repeated: false,
      ...(original ? { original } : {}),
    };
    this.#running.delete(running);
    this.#keep(result, running, refusal);
    this.#tell(result, kind, about, response);
    return result;
  }

  /** The members as they are configured, in whatever order they ended. */
  #inOrder({ kind, about, ended }: Running): readonly MemberResult[] {
    const { groups, scenes } = this.groupsAndScenes;
    const commanded = scenes.get(about)?.commands.map(({ member }) => member);
    const members = kind === "group" ? groups.get(about)?.members : commanded;
    const places = new Map(members?.map((member, at) => [memberName(member), at]));
    const placeOf = (one: MemberResult) => places.get(`${one.controller}/${one.actuator}`) ?? 0;
    return ended.toSorted((one, other) => placeOf(one) - placeOf(other));
  }

  /** Names may be invented without end, and a repeated message is news for its sender alone. */
  #keep(result: GroupResult, { kind, about, key }: Running, refusal: Refusal | null): void {
    if (refusal?.reason === "unknown_actuator" || refusal?.reason === "duplicate") return;
    this.#last.set(`${kind}/${about}`, result);
    // The id of another command stays that one's.
    if (this.#results.has(result.id)) return;
    this.#results.set(result.id, { result, key });
    forgetOldest(this.#results, mostKept);
  }

  #tell(result: GroupResult, kind: GroupOrScene, about: string, response: GroupRequest["response"]): void {
    if (!topicIdPattern.test(about)) return;
    const { topics, outbox } = this.#ports;
    const answers = response === null ? [] : [answerTo(response)];
    outbox.send({
      controllerId: null,
      destinations: [{ topic: topics[kind](about).result, options: {}, isOwn: true }, ...answers],
      document: result,
    });
  }

  #show(group: Group, before?: Controller, after?: Controller): void {
    const isNews = group.members.some(
      ({ code, actuator }) =>
        code === after?.info.code && before?.actuators.get(actuator) !== after.actuators.get(actuator),
    );
    // Most of what changes of a controller is a reading.
    if (before !== undefined && after !== undefined && !isNews) return;
    const state = groupState(this.actuatorsOf(group));
    this.#shown.set(group.id, state);
    const { retained, topics } = this.#ports;
    const topic = topics.group(group.id);
    const members = group.members.map((member) => [memberName(member), shownState(this.#actuator(member))]);
    const said = [
      [topic.position, state.position === null ? "" : String(state.position)],
      [topic.state, state.state],
    ] as const;
    const quality = [topic.quality, state.quality] as const;
    const isUsable = state.quality === "good" || state.quality === "uncertain";
    const document = { name: group.name, ...state, members: Object.fromEntries(members) as unknown };
    // A reader must never hold a new bad value under the old good quality, nor a good quality over the old bad value.
    for (const [at, text] of isUsable ? [...said, quality] : [quality, ...said]) retained.wanted(at, text);
    retained.wanted(topic.json, JSON.stringify(document));
  }

  #actuator({ code, actuator }: Member): Actuator | undefined {
    return this.#ports.store.get(code)?.actuators.get(actuator);
  }

  actuatorsOf({ members }: Group): readonly (Actuator | undefined)[] {
    return members.map((member) => this.#actuator(member));
  }

  stateOf(group: Group): GroupState {
    return this.#shown.get(group.id) ?? groupState(this.actuatorsOf(group));
  }

  /** The newest command that is under way. */
  runningOf(kind: GroupOrScene, about: string): Running | null {
    return [...this.#running].findLast((one) => one.kind === kind && one.about === about) ?? null;
  }

  lastOf(kind: GroupOrScene, about: string): GroupResult | null {
    return this.#last.get(`${kind}/${about}`) ?? null;
  }

  /** What became of a command, by its id; null for none of ours. */
  find(id: string): Running | GroupResult | null {
    return [...this.#running].findLast((one) => one.id === id) ?? this.#results.get(id)?.result ?? null;
  }
}

interface MemberCommand {
  readonly member: Member;
  readonly command: string | null;
}

/** `45` for a degree, else the word; null for what was never read. */
const shownState = (actuator: Actuator | undefined): string | null =>
  actuator?.state === "position" && actuator.position !== null
    ? String(actuator.position)
    : (actuator?.state ?? null);

function answerTo({ topic, correlationData }: NonNullable<GroupRequest["response"]>) {
  const responseProperties = correlationData && { correlationData: Buffer.from(correlationData) };
  const options = responseProperties ? { responseProperties } : {};
  return { topic, options, isOwn: false };
}

function groupsByCode({ groups }: GroupsAndScenes): ReadonlyMap<string, ReadonlySet<Group>> {
  const found = new Map<string, Set<Group>>();
  for (const group of groups.values())
    for (const { code } of group.members) found.set(code, (found.get(code) ?? new Set()).add(group));
  return found;
}

/** The longest id that a command may have. */
const mostIdLength = 200;

/**
 * What one member is sent of a payload that could be read: the same with a command of its own, where a scene has one, and with an id of
 * its own where the sender gave one. So a message that comes twice is the same command twice for every member.
 */
export function memberPayload(payload: Uint8Array, command: string | null, id: string | null): Uint8Array {
  const text = new TextDecoder().decode(payload).trim();
  const own = command === null ? {} : { command };
  if (!text.startsWith("{")) return command === null ? payload : bytesOf(command);
  const fields = JSON.parse(text) as object;
  if (command === null && id === null) return payload;
  return bytesOf(JSON.stringify({ ...fields, ...own, ...(id !== null && { id: fittingId(id) }) }));
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

const fittingId = (id: string): string =>
  id.length <= mostIdLength ? id : createHash("sha256").update(id).digest("hex");
