import { msg } from "../language/text.js";
import { createHash, randomUUID } from "node:crypto";
import { type Ids, noIds, type TakenOnce } from "../commands/book.js";
import {
  type Duplicate,
  duplicateOf,
  duplicateRefusal,
  knownId,
  retainedRefusal,
  surplusEnding,
  withId,
} from "../commands/intake.js";
import { claimedId, payloadKey, readPayload } from "../commands/payload.js";
import type { CommandRequest, ResultAddressee } from "../commands/command.js";
import { type CommandListener, incomingCommand, isAnswered } from "../commands/service.js";
import type { Core } from "../feature/core.js";
import { suggestion } from "../runtime/similar-words.js";
import type { CommandResult, Refusal } from "../greenhouse/command/outcomes.js";
import { canonical, readWanted } from "../greenhouse/command/words.js";
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
import type { FloodListener, IncomingMessage, Surplus } from "../mqtt/connection/settings.js";
import { destinationsOf } from "../mqtt/outbox.js";
import { incomingOn } from "../mqtt/topics.js";
import { controllerTopicId } from "../settings/controllers.js";
import { GroupKeeper, type KeeperCore, WholeResults } from "./keeper.js";
import { type GroupsPast, takenUp } from "./restore.js";
import { placeOf, placeOfAll, type Running } from "./running.js";

/** The shared flood allowance of groups that do not exist. */
const unknownGroups = "commands to groups that do not exist";

/** Whether a payload is a stop: by the word, or by a value that stops a member. */
function isStop(payload: Buffer, members: readonly (Actuator | undefined)[]): boolean {
  const read = readPayload(payload);
  if (!("command" in read)) return false;
  const stops = (member: Actuator | undefined) => {
    const wanted = member && readWanted(read.command, member.settings);
    return wanted !== undefined && "type" in wanted && wanted.type === "stop";
  };
  return read.command.toLowerCase() === "stop" || members.some(stops);
}

/** An arriving command to a group or scene. */
export interface GroupRequest extends Pick<
  CommandRequest,
  "payload" | "retained" | "expiryMs" | "ageMs" | "isKept" | "by" | "via" | "response"
> {
  readonly kind: GroupOrScene;
  readonly id: string;
}

type Commands = Core["commands"];

/** The parts of the core that it needs. */
interface GroupCore extends KeeperCore, Pick<Core, "groupsAndScenes" | "topics"> {
  readonly mirror: { readonly store: Pick<Core["mirror"]["store"], "get" | "onChange"> };
  readonly commands: Pick<Commands, "keepResult" | "deliveryOf" | "onSurplus" | "unanswerable"> & {
    readonly commander: Pick<Commands["commander"], "submit">;
    readonly outbox: Pick<Commands["outbox"], "send" | "restore">;
    readonly receipts: Pick<Commands["receipts"], "whenTaken" | "settle">;
  };
  readonly retained: Pick<Core["retained"], "wanted" | "unwanted" | "forget" | "repeat">;
  readonly rules: () => Pick<ReturnType<Core["rules"]>, "response_topics">;
  readonly clock: Pick<Core["clock"], "now" | "monotonic" | "wait">;
}

/** Far more than come in 12 h. Beyond it the oldest are forgotten, and then the members recognise a repeated id. */
const mostKept = 1_000;
/** Commands for a scene; Home Assistant sends the second. */
const sceneWords: ReadonlySet<string> = new Set(["activate", "on"]);

/**
 * Passes a command for a group to each member, on the path of every command, and sums up their results in one. It
 * decides nothing about a member's command. A group shows what the platform has shown of its members.
 */
export class GroupService implements CommandListener {
  #groupsAndScenes: GroupsAndScenes;
  /** Groups by device code of their members. */
  #ofCode: ReturnType<typeof groupsByCode>;
  readonly #core: GroupCore;
  readonly #newId: () => string;
  readonly #keeper: GroupKeeper;
  readonly #running = new Set<Running>();
  /** The newest accepted command of each group and scene. */
  readonly #newest = new Map<string, TakenOnce<unknown>>();
  /** Accepted commands by target and id, with their results without members. */
  #ids: Ids<TakenOnce<GroupResult>> = noIds;
  readonly #whole = new WholeResults();
  /** The newest result of each group and scene. */
  readonly #last = new Map<string, GroupResult>();
  readonly #shown = new Map<string, GroupState>();
  #refusals = 0;
  /** Topics whose retained command was answered on this connection. */
  readonly #retainedAnswered = new Set<string>();

  constructor(core: GroupCore, newId: () => string = randomUUID) {
    this.#core = core;
    this.#newId = newId;
    this.#keeper = new GroupKeeper(core);
    this.#groupsAndScenes = core.groupsAndScenes();
    this.#ofCode = groupsByCode(this.#groupsAndScenes);
    core.mirror.store.onChange((before, after) => {
      const code = (after ?? before)?.info.code ?? "";
      for (const group of this.#ofCode.get(code) ?? []) this.#show(group, before, after);
    });
    for (const group of this.#groupsAndScenes.groups.values()) this.#show(group);
  }

  get groupsAndScenes(): GroupsAndScenes {
    return this.#groupsAndScenes;
  }

  /** Takes over a reloaded configuration. Commands under way continue with their members. */
  reload(): void {
    const { retained, topics, groupsAndScenes } = this.#core;
    const before = this.#groupsAndScenes;
    const now = groupsAndScenes();
    if (now === before) return;
    this.#groupsAndScenes = now;
    this.#ofCode = groupsByCode(now);
    for (const id of before.groups.keys()) {
      if (now.groups.has(id)) continue;
      this.#shown.delete(id);
      const { position, state, quality, json } = topics.group(id);
      for (const topic of [position, state, quality, json]) {
        retained.forget(topic);
        retained.unwanted(topic);
      }
    }
    for (const group of now.groups.values()) this.#show(group);
  }

  /** Restores from earlier runs: results that may not have arrived, ids, and open commands. */
  restore({ open, isOpen, ended }: GroupsPast): void {
    const { mirror, clock, commands, topics } = this.#core;
    const mono = clock.monotonic();
    for (const { group, agoMs, undelivered } of ended) {
      const { kind, name: about, canonical: word, payload_hash: key, told } = group;
      const place = placeOfAll({ kind, about });
      if (told.reason !== "duplicate") this.#last.set(place, told);
      if (agoMs !== null) {
        const result = this.#withoutMembers({ kind, about }, told);
        const once = { id: told.id, canonical: word, payloadKey: key, result, endedMono: mono - agoMs };
        this.#ids = withId(this.#ids, place, once, mono, mostKept);
        this.#newest.set(place, once);
      }
      if (undelivered === null) continue;
      const destinations = destinationsOf([topics[kind](about).result], null);
      commands.outbox.restore({
        ...{ controllerId: null, destinations, document: told },
        onDelivered: commands.deliveryOf(undelivered),
      });
    }
    const idOf = (code: string) => mirror.store.get(code)?.info.id ?? controllerTopicId(code);
    for (const taken of open) {
      const running = takenUp(taken, isOpen, idOf);
      this.#running.add(running);
      this.#note(running, null);
      if (running.open.size === 0) void this.#end(running);
    }
  }

  onDisconnected(): void {
    this.#retainedAnswered.clear();
  }

  /** Removes retained topics of earlier runs: of a group that no longer exists, or a position that it does not have. */
  onFound(topic: string, payload: Uint8Array): void {
    const { topics, retained } = this.#core;
    const own = `${topics.base}/group/`;
    // Retained topics of other parts come here too.
    if (!topic.startsWith(own)) return;
    const [id = "", leaf = ""] = topic.slice(own.length).split("/");
    const isPosition = leaf === "position" && (this.#shown.get(id)?.position ?? null) === null;
    if (payload.length === 0) return;
    if (!this.groupsAndScenes.groups.has(id)) retained.unwanted(topic);
    else if (isPosition) retained.wanted(topic, "");
  }

  /** A flood ends in one result for each group, as it would overload each member. */
  readonly flood: FloodListener = {
    allowanceOf: (topic) => {
      const asked = incomingOn(this.#core.topics, topic);
      if (asked?.type !== "group") return null;
      const { groups, scenes } = this.groupsAndScenes;
      const group = asked.kind === "group" ? groups.get(asked.id) : undefined;
      if (group === undefined && !(asked.kind === "scene" && scenes.has(asked.id)))
        return { key: unknownGroups, isUrgent: null };
      const isUrgent = (payload: Buffer) => isStop(payload, group ? this.actuatorsOf(group) : []);
      return { key: topic, isUrgent, idOf: claimedId };
    },
    onSurplus: (surplus) => {
      const asked = incomingOn(this.#core.topics, surplus.key);
      if (asked?.type === "group") this.#tellSurplus(asked.kind, asked.id, surplus);
      else if (surplus.key === unknownGroups) this.#core.commands.onSurplus(null, surplus);
    },
  };

  #tellSurplus(kind: GroupOrScene, about: string, { count, isUrgent, ids }: Surplus): void {
    const now = this.#core.clock.now();
    const ending = surplusEnding(isUrgent ? "before_sending" : "overloaded", count);
    const asked = { kind, about, id: this.#newId(), command: null, by: null, via: null };
    const times = { receivedAt: now, finishedAt: now };
    this.#tell({ ...resultOf(asked, ending, [], times), count, ids }, kind, about, null);
  }

  /** Takes the messages on the topics of groups and scenes. */
  onMessage(message: IncomingMessage): boolean {
    const { topics, commands, rules } = this.#core;
    const asked = incomingOn(topics, message.topic);
    if (asked?.type !== "group") return false;
    const { kind, id } = asked;
    if (!topicIdPattern.test(id) || isAnswered(message, this.#retainedAnswered)) {
      message.acknowledge?.();
      return true;
    }
    const place = { type: "command", controllerId: kind, target: "actuator", id } as const;
    const { response_topics: responseTopics } = rules();
    const request = { ...incomingCommand(message, place, { topics, responseTopics }), kind, id };
    const { responseTopic } = message.properties;
    if (responseTopic !== undefined && request.response === null) commands.unanswerable(responseTopic);
    const { acknowledge } = message;
    if (acknowledge === undefined) this.submit(request);
    else
      this.#core.commands.receipts.whenTaken(acknowledge, () => {
        const { id: own, isOpen, receipt = receiptKey({ kind, about: id }, own) } = this.#submit(request);
        return { key: receipt, isOpen };
      });
    return true;
  }

  /** Passes a command to the members; returns its id, and its result where it was refused as a whole. */
  submit(request: GroupRequest): { readonly id: string; readonly refused: GroupResult | null } {
    const { id, refused } = this.#submit(request);
    return { id, refused };
  }

  /** `isOpen`: something will still follow. */
  #submit(request: GroupRequest): Submitted {
    const { clock } = this.#core;
    const { kind, id: about, by, via, response } = request;
    const read = readPayload(request.payload);
    const isRead = "command" in read;
    const command = isRead ? this.#canonical(request, read.command) : null;
    const running: Running = {
      kind,
      about,
      via,
      response,
      open: new Map(),
      notTaken: new Set(),
      ended: [],
      order: [],
      isKept: null,
      receivedAt: clock.now(),
      id: (isRead ? read.id : claimedId(request.payload)) ?? this.#newId(),
      command,
      by: (isRead ? read.by : null) ?? by,
      canonical: (kind === "group" && command) || "",
      payloadKey: payloadKey(request.payload),
    };
    const given = request.isKept === true ? this.#givenBefore(running, isRead ? read.id : null) : null;
    if (given !== null) return { id: given, refused: null, isOpen: false };
    const commands = this.#commandsOf(request);
    const before = knownId(this.#ids, placeOfAll(running), running.id);
    const duplicate = duplicateOf(running, before, clock.monotonic());
    const refusal = "reason" in commands ? commands : isRead ? refusalOf(request, running, duplicate) : read;
    if (refusal !== null) {
      // The repeated command may have the same id and end at another time.
      const receipt = `${receiptKey(running, running.id)} refused ${++this.#refusals}`;
      const onTold = () => this.#core.commands.receipts.settle(receipt);
      const refused = this.#refuse(running, refusal, duplicate, onTold);
      return { id: running.id, refused, isOpen: true, receipt };
    }
    if (!("reason" in commands) && isRead) this.#handOut(running, commands, request, read.id);
    return { id: running.id, refused: null, isOpen: running.isKept !== null };
  }

  /** The id of a command that the broker gave to an earlier run too; null where nothing is known of it. */
  #givenBefore(running: Running, ownId: string | null): string | null {
    const place = placeOfAll(running);
    const { payloadKey: key, canonical: word } = running;
    const own = { id: ownId, canonical: word, payloadKey: key };
    const before = ownId === null ? (this.#newest.get(place) ?? null) : knownId(this.#ids, place, ownId);
    const given = duplicateOf(own, before, this.#core.clock.monotonic());
    if (given !== null || ownId !== null) return given?.isSame === true ? given.first.id : null;
    // A repeated stop is meant as another one.
    const isIt = (one: Running) => placeOfAll(one) === place && one.payloadKey === key && word !== "stop";
    return [...this.#running].find(isIt)?.id ?? null;
  }

  /** The command for each member; null for that of the request. */
  #commandsOf({ kind, id }: GroupRequest): readonly MemberCommand[] | Refusal {
    const { groups, scenes } = this.groupsAndScenes;
    const found =
      kind === "group"
        ? groups.get(id)?.members.map((member) => ({ member, command: null }))
        : scenes.get(id)?.commands;
    if (found !== undefined) return found;
    const names = [...(kind === "group" ? groups : scenes).keys()];
    const hint = suggestion(id, names);
    const message =
      kind === "group"
        ? msg`There is no group "${id}" in the configuration${hint}`
        : msg`There is no scene "${id}" in the configuration${hint}`;
    return { reason: "unknown_actuator", message };
  }

  /** The canonical form of a command, whatever its spelling. */
  #canonical({ kind, id }: GroupRequest, command: string): string {
    if (kind === "scene") return sceneWords.has(command.toLowerCase()) ? "activate" : command.toLowerCase();
    const target = this.groupsAndScenes.groups.get(id)?.target;
    const wanted = target && readWanted(command, { ...target, address: "" });
    return wanted === undefined || "reason" in wanted ? command.toLowerCase() : canonical(wanted);
  }

  #handOut(
    running: Running,
    commands: readonly MemberCommand[],
    { payload, expiryMs, ageMs, by, via }: GroupRequest,
    ownId: string | null,
  ): void {
    this.#running.add(running);
    this.#note(running, null);
    running.order = commands.map(({ member }) => memberName(member));
    const asked = commands.map(({ member, command }) => {
      const id = fittingId(`${running.id}/${memberName(member)}`);
      running.open.set(placeOf(member.controllerId, member.actuator, id), member);
      return { ...member, id, own: command };
    });
    const members = asked.map(({ code: controller, actuator, id, own }) => {
      return { controller, actuator, id, command: own ?? running.command };
    });
    running.isKept = this.#keeper.taken(running, members, () => this.#settle(running));
    for (const { controllerId, actuator: targetId, id: givenId, own } of asked) {
      const { isTaken } = this.#core.commands.commander.submit({
        controllerId,
        target: "actuator",
        targetId,
        givenId,
        expiryMs,
        ageMs,
        by,
        via,
        retained: false,
        response: null,
        payload: memberPayload(payload, own, ownId === null ? null : givenId),
      });
      if (!isTaken) running.notTaken.add(placeOf(controllerId, targetId, givenId));
    }
  }

  /** The phase of a member's command is shown at the member. */
  phase(): void {
    return undefined;
  }

  /**
   * Notes the end of a command that may be a member's. A refusal may come before its sender knows the id, so it is
   * looked up later.
   */
  result(
    result: CommandResult,
    { controllerId, target, targetId }: ResultAddressee,
    isRefusal: boolean,
  ): void {
    if (target !== "actuator" || this.#running.size === 0) return;
    queueMicrotask(() => {
      const place = placeOf(controllerId, targetId, result.id);
      const { id, command, outcome, reason, message, interlock } = result;
      const told = { id, command, outcome, reason, message, interlock };
      for (const running of this.#running) {
        // The answer to another message with the same id does not end an accepted command.
        if (isRefusal !== running.notTaken.has(place)) continue;
        if (!running.open.delete(place)) continue;
        running.ended.push({ controller: controllerId, actuator: targetId, ...told });
        if (running.open.size === 0) void this.#end(running);
      }
    });
  }

  /** All members have ended; the result is published once the journal has it. */
  async #end(running: Running): Promise<void> {
    const members = inOrder(running);
    const result = this.#result(running, members.length === 0 ? unknownMembers : summaryOf(members), members);
    const onDelivered = await this.#keeper.ended(running, result);
    if (onDelivered === null) return;
    this.#running.delete(running);
    this.#note(running, result);
    this.#conclude(running, result, onDelivered);
    this.#settle(running);
  }

  /** Settles the receipt, so that the broker does not deliver the command again. */
  #settle(running: Running): void {
    this.#core.commands.receipts.settle(receiptKey(running, running.id));
  }

  /**
   * Refuses a command without asking any member. Names may be invented without end, and a repetition concerns only its
   * sender.
   */
  #refuse(
    running: Running,
    { reason, message }: Refusal,
    duplicate: Duplicate<TakenOnce<GroupResult>> | null,
    onTold: () => void,
  ): GroupResult {
    const first = reason === "duplicate" ? (duplicate?.first.result ?? null) : null;
    const original = first && (this.#whole.get(receiptKey(running, first.id)) ?? first);
    const result = {
      ...this.#result(running, { outcome: "refused", reason, message: String(message) }, []),
      ...(original ? { original } : {}),
    };
    const { kind, about, response } = running;
    if (reason === "unknown_actuator") {
      this.#tell(result, kind, about, response);
      onTold();
    } else
      void this.#keeper.refused(running, result).then((onDelivered) => {
        if (reason === "duplicate") this.#tell(result, kind, about, response, onDelivered);
        else this.#conclude(running, result, onDelivered);
        onTold();
      });
    return result;
  }

  #result(running: Running, ending: GroupEnding, members: readonly MemberResult[]): GroupResult {
    const finishedAt = this.#core.clock.now();
    return resultOf(running, ending, members, { receivedAt: running.receivedAt, finishedAt });
  }

  #conclude({ kind, about, response }: Running, result: GroupResult, onDelivered: () => void): void {
    this.#last.set(`${kind}/${about}`, result);
    this.#tell(result, kind, about, response, onDelivered);
  }

  /** Notes a command, so that a repetition of its id is recognised. */
  #note(running: Running, result: GroupResult | null): void {
    const { id, canonical: word, payloadKey: key } = running;
    const now = this.#core.clock.monotonic();
    const kept = result && this.#withoutMembers(running, result);
    const taken = { id, canonical: word, payloadKey: key, result: kept, endedMono: result && now };
    const place = placeOfAll(running);
    this.#ids = withId(this.#ids, place, taken, now, mostKept);
    if (result === null || this.#newest.get(place)?.id === id) this.#newest.set(place, taken);
  }

  #withoutMembers(of: Pick<Running, "kind" | "about">, result: GroupResult): GroupResult {
    this.#whole.add(receiptKey(of, result.id), result);
    return { ...result, members: [] };
  }

  #tell(
    result: GroupResult,
    kind: GroupOrScene,
    about: string,
    response: GroupRequest["response"],
    onDelivered?: () => void,
  ): void {
    if (!topicIdPattern.test(about)) return;
    const { topics, commands, retained } = this.#core;
    const destinations = destinationsOf([topics[kind](about).result], response);
    commands.outbox.send({
      controllerId: null,
      destinations,
      document: result,
      ...(onDelivered && { onDelivered }),
    });
    // A display that already showed the requested state has to receive the true one again.
    if (kind === "group" && result.outcome !== "confirmed") {
      const { position, state, json } = topics.group(about);
      retained.repeat([position, state, json]);
    }
  }

  #show(group: Group, before?: Controller, after?: Controller): void {
    const isNews = group.members.some(
      ({ code, actuator }) =>
        code === after?.info.code && before?.actuators.get(actuator) !== after.actuators.get(actuator),
    );
    // Most changes of a controller are readings.
    if (before !== undefined && after !== undefined && !isNews) return;
    const state = groupState(this.actuatorsOf(group));
    this.#shown.set(group.id, state);
    const { retained, topics } = this.#core;
    const topic = topics.group(group.id);
    const members = group.members.map(
      (member) => [memberName(member), shownState(this.#actuator(member))] as const,
    );
    const said = [
      [topic.position, state.position === null ? "" : String(state.position)],
      [topic.state, state.state],
    ] as const;
    const quality = [topic.quality, state.quality] as const;
    const isUsable = state.quality === "good" || state.quality === "uncertain";
    const document = { name: group.name, ...state, members: Object.fromEntries(members) };
    // A reader must never see a bad new value with the old good quality, nor a good quality with the old bad value.
    for (const [at, text] of isUsable ? [...said, quality] : [quality, ...said]) retained.wanted(at, text);
    retained.wanted(topic.json, JSON.stringify(document));
  }

  #actuator({ code, actuator }: Member): Actuator | undefined {
    return this.#core.mirror.store.get(code)?.actuators.get(actuator);
  }

  actuatorsOf({ members }: Group): readonly (Actuator | undefined)[] {
    return members.map((member) => this.#actuator(member));
  }

  stateOf(group: Group): GroupState {
    return this.#shown.get(group.id) ?? groupState(this.actuatorsOf(group));
  }

  /** The newest command under way. */
  runningOf(kind: GroupOrScene, about: string): Running | null {
    return [...this.#running].findLast((one) => one.kind === kind && one.about === about) ?? null;
  }

  lastOf(kind: GroupOrScene, about: string): GroupResult | null {
    return this.#last.get(`${kind}/${about}`) ?? null;
  }

  /** A command or its result by id; null where unknown. */
  find(id: string): Running | GroupResult | null {
    const open = [...this.#running].findLast((one) => one.id === id);
    if (open !== undefined) return open;
    const { groups, scenes } = this.#groupsAndScenes;
    const places = [
      ...Array.from(groups.keys(), (one) => `group/${one}`),
      ...Array.from(scenes.keys(), (one) => `scene/${one}`),
    ];
    const ended = places.flatMap((place) => {
      const result = knownId(this.#ids, place, id)?.result ?? [];
      return this.#whole.get(`${place} ${id}`) ?? result;
    });
    return ended[0] ?? [...this.#last.values()].find((one) => one.id === id) ?? null;
  }
}

interface MemberCommand {
  readonly member: Member;
  readonly command: string | null;
}

/** `45` for a degree, else the word; null if never read. */
const shownState = (actuator: Actuator | undefined): string | null =>
  actuator?.state === "position" && actuator.position !== null
    ? String(actuator.position)
    : (actuator?.state ?? null);

/** The members' results in the order of the configuration. */
const inOrder = ({ order, ended }: Running): readonly MemberResult[] => {
  const placeOf = ({ controller, actuator }: MemberResult) => order.indexOf(`${controller}/${actuator}`);
  return ended.toSorted((one, other) => placeOf(one) - placeOf(other));
};

/** The same id may be used for several targets. */
const receiptKey = (of: Pick<Running, "kind" | "about">, id: string): string => `${placeOfAll(of)} ${id}`;

interface Submitted {
  readonly id: string;
  readonly refused: GroupResult | null;
  /** Whether the broker is to hear later that it is done. */
  readonly isOpen: boolean;
  /** The receipt's key, where the id is not enough. */
  readonly receipt?: string;
}

/** Why no member is asked; null where all are. Without an id each member recognises a repetition itself. */
function refusalOf(
  { kind, retained }: GroupRequest,
  { command }: Running,
  duplicate: Duplicate<TakenOnce<unknown>> | null,
): Refusal | null {
  if (retained) return retainedRefusal;
  if (kind === "scene" && command !== null && command !== "activate")
    return { reason: "unknown_command", message: msg`A scene has commands of its own; send it activate.` };
  return duplicate && duplicateRefusal(duplicate);
}

/** There were more open commands than the journal carries on. */
const unknownMembers: GroupEnding = {
  outcome: "unknown",
  reason: null,
  message: msg`The bridge stopped, and its journal says of this command only that it was taken. Look at the results of its members.`,
};

type GroupEnding = Pick<GroupResult, "outcome" | "reason" | "message"> & Partial<Pick<GroupResult, "missed">>;

function resultOf(
  { kind, about, id, command, by, via }: Pick<Running, "kind" | "about" | "id" | "command" | "by" | "via">,
  { outcome, reason, message, missed = [] }: GroupEnding,
  members: readonly MemberResult[],
  { receivedAt, finishedAt }: { readonly receivedAt: number; readonly finishedAt: number },
): GroupResult {
  return {
    id,
    group: kind === "group" ? about : null,
    scene: kind === "scene" ? about : null,
    command,
    ...{ outcome, reason, message, missed, by, via, members },
    received_at: new Date(receivedAt).toISOString(),
    finished_at: new Date(finishedAt).toISOString(),
    duration_ms: Math.max(0, finishedAt - receivedAt),
    repeated: false,
  };
}

function groupsByCode({ groups }: GroupsAndScenes): ReadonlyMap<string, ReadonlySet<Group>> {
  const found = new Map<string, Set<Group>>();
  for (const group of groups.values())
    for (const { code } of group.members) found.set(code, (found.get(code) ?? new Set()).add(group));
  return found;
}

const mostIdLength = 200;

/**
 * A member's payload: that of a readable request, with its own command in a scene, and its own id if the sender gave
 * one. So a message that comes twice is the same command twice for every member.
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
