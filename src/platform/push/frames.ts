import { msg, type Text } from "../../language/text.js";
import type { PushChannel, PushNews } from "../../greenhouse/ports.js";
import {
  at,
  type Decode,
  type Decoding,
  type Fields,
  isContainer,
  isFields,
  parseJson,
  textOf,
  UnreadableJson,
  UnreadableShape,
  withoutHostileNames,
  readFlag,
  type ReadRoles,
  type ReportShape,
  roleReader,
  type Roles,
} from "../decode/decoding.js";
import { manyValuesReader, registerReader } from "../decode/registers.js";
import { sensorReader } from "../decode/sensors.js";
import { runningStatusReader } from "../decode/statuses.js";
import type { OperationShape, ShapeSettings } from "../settings.js";

/** The inputs of a frame's decoder beside the frame. */
interface FrameDecoding extends Pick<Decoding, "report" | "readTime" | "receivedAt"> {
  readonly knows: (code: string) => boolean;
  /** Called for a frame that is only a greeting or a sign of life. */
  readonly greeted?: () => void;
  /** Reports what no setting would make readable. */
  readonly leaveOut: ReportShape;
}

/**
 * A decoder for a channel's frames, as tolerant as those for answers. It never throws; unreadable parts are reported
 * and left out.
 */
export function frameDecoder(
  channel: PushChannel,
  shapes: ShapeSettings,
): (data: Buffer, decoding: FrameDecoding) => readonly PushNews[] {
  const decode = decoderOf(channel, shapes);
  return (data, decoding) => {
    const { leaveOut } = decoding;
    let isTooMuch = hasMoreThan(mostSeparators, data);
    const mayParse = (inner: Buffer) => !(isTooMuch ||= hasMoreThan(mostSeparators, inner));
    let frame: unknown;
    try {
      frame = isTooMuch ? null : withoutHostileNames(parseJson(data, mayParse));
    } catch (error) {
      if (!(error instanceof UnreadableJson)) throw error;
      if (greets(data.toString("utf8", 0, 200))) {
        decoding.greeted?.();
        return [];
      }
      leaveOut(msg`text that is no JSON, or broken JSON`, data.toString("utf8", 0, 200));
      return [];
    }
    if (isTooMuch) {
      leaveOut(msg`a frame of more than ${mostSeparators} values`, {});
      return [];
    }
    if (isGreeting(frame)) {
      decoding.greeted?.();
      return [];
    }
    if (isContainer(frame)) return decode(frame, decoding);
    leaveOut(msg`a frame that is neither object nor list`, frame);
    return [];
  };
}

/** Parsing cost depends on the number of values, and nothing else runs meanwhile. */
const mostSeparators = 20_000;
const comma = 0x2c;

function hasMoreThan(most: number, data: Buffer): boolean {
  let count = 0;
  for (let at = data.indexOf(comma); at !== -1 && count <= most; at = data.indexOf(comma, at + 1)) count += 1;
  return count > most;
}

const greeting =
  /^(?:heart[-_ ]?beat|(?:keep[-_ ]?)?alive|ping|pong|hello|hi|welcome|ready|ok|success|ack|(?:dis)?connect(?:ed|ion)?|open(?:ed)?|subscribed?|subscription|connection[-_ ]?(?:established|success(?:ful)?)|连接成功|已连接|心跳|欢迎)[.!。！]?$/i;

/** Whether a text is a greeting or a sign of life. */
const greets = (text: string): boolean => text.trim() === "" || greeting.test(text.trim());

/** The most fields of a greeting. */
const mostGreeting = 8;

/**
 * Whether a frame is a greeting: such a word, or fields with such a word or a frame type and nothing else of substance.
 */
function isGreeting(frame: unknown): boolean {
  if (typeof frame === "string") return greets(frame);
  if (!isFields(frame)) return false;
  const values = Object.entries(frame);
  const isPlain = values.every(
    ([key, value]) =>
      typeof value !== "object" || value === null || (key === "data" && Object.keys(value).length === 0),
  );
  const isNamed = values.some(([key]) => /^(?:device_?code|code|address|value|status|online)$/i.test(key));
  const isCode = frame["code"] === 200 || frame["code"] === 0;
  const own = values.filter(([key]) => !(isCode && key === "code"));
  const namesThing = isCode ? own.some(([key]) => /^(?:device_?code|address|value)$/i.test(key)) : isNamed;
  const greetsInOne = own.some(([, value]) => typeof value === "string" && greeting.test(value.trim()));
  return isPlain && !namesThing && (greetsInOne || isKindAlone(values)) && values.length <= mostGreeting;
}

/** Whether fields give only type and time of a frame, and nothing about a device. */
const isKindAlone = (values: readonly (readonly [key: string, value: unknown])[]): boolean =>
  values.some(([key, value]) => kindNames.test(key) && typeof value === "string") &&
  values.some(([key]) => besideKind.test(key)) &&
  values.every(([key]) => kindNames.test(key) || besideKind.test(key));

const kindNames = /^(?:type|msg_?type|kind|event|cmd|action|op)$/i;
const besideKind = /^(?:ts|time|timestamp|date_?time|seq)$/i;

type DecodeFrame = (frame: object, decoding: FrameDecoding) => readonly PushNews[];
/** Decodes one scope of a frame. */
type DecodeScope = (scope: Scope, decoding: Decoding) => readonly PushNews[];

function decoderOf(channel: PushChannel, shapes: ShapeSettings): DecodeFrame {
  switch (channel.type) {
    case "set-value":
    case "device-status":
      return byScope(shapeOf(channel.type, shapes), controllerFrame(channel.type, shapes));
    case "weather-station":
      return readingsFrame(channel.code, shapes["ws/sensor-data"] ?? shapes["sensor-data"] ?? {});
  }
}

const shapeOf = (channel: "set-value" | "device-status", shapes: ShapeSettings): OperationShape =>
  (channel === "set-value" ? shapes["ws/set-value"] : (shapes["ws/device-status"] ?? shapes.device_status)) ??
  {};

/** Splits a frame by device; with `items` configured only that part is read. */
function byScope({ items: path }: OperationShape, decode: DecodeScope): DecodeFrame {
  return (frame, decoding) => {
    const part = path === undefined ? frame : at(frame, path);
    const found = scopesIn(frame, part, decoding.knows);
    reportScopes(found, frame, decoding);
    return found.list.flatMap((scope) => decode(scope, { ...decoding, code: scope.code, address: "" }));
  };
}

function reportScopes(
  { list, foreign, cut, mixed }: Scopes,
  frame: object,
  { report, leaveOut }: FrameDecoding,
): void {
  if (mixed) report(msg`a device inside another one, which is left out`, frame);
  if (cut) leaveOut(msg`more than 500 devices in one frame; the rest is left out`, frame);
  if (list.length === 0 && !foreign && !mixed) report(msg`a frame that names no device`, frame);
}

/**
 * Decodes a scope about a controller. The interface says only that both channels push control parameters, so both kinds
 * are tried on either: first the one that the channel is named after, unless an address is given.
 */
function controllerFrame(channel: "set-value" | "device-status", shapes: ShapeSettings): DecodeScope {
  const registers = registersFrame({ ...shapeOf("set-value", shapes), items: undefined });
  const statuses = statusFrame({ ...shapeOf("device-status", shapes), items: undefined });
  const namedStatuses: DecodeScope = (scope, decoding) =>
    hasAny(scope.node, namesStatus) ? statuses(scope, decoding) : [];
  return (scope, decoding) => {
    if (channel === "set-value" || hasAny(scope.node, namesAddress))
      return eitherOf(registers, namedStatuses, scope, decoding);
    if (!hasAny(scope.node, isKeyedByAddress)) return eitherOf(statuses, registers, scope, decoding);
    return withConnection(eitherOf(registers, namedStatuses, scope, decoding), scope);
  };
}

function withConnection(news: readonly PushNews[], scope: Scope): readonly PushNews[] {
  const online = connectionIn(scope);
  if (online === null || news.some(({ type }) => type === "connection")) return news;
  return [{ type: "connection", code: scope.code, online }, ...news];
}

/**
 * The result of the first decoder and, unless it found registers or statuses, of the second. If neither understands the
 * part, only the first reports it.
 */
function eitherOf(
  first: DecodeScope,
  second: DecodeScope,
  scope: Scope,
  decoding: Decoding,
): readonly PushNews[] {
  const riddles: Parameters<Decoding["report"]>[] = [];
  const news = first(scope, { ...decoding, report: (...riddle) => riddles.push(riddle) });
  const isTold = news.some(({ type }) => type !== "connection");
  const others = isTold ? [] : second(scope, { ...decoding, report: () => undefined });
  if (isTold || others.length === 0) for (const riddle of riddles) decoding.report(...riddle);
  return [...news, ...others];
}

const plainRegister = registerReader({});

const namesAddress = (fields: Fields): boolean => "address" in plainRegister(fields);

const namesStatus = (fields: Fields): boolean => {
  const { name, online } = connectionRoles(fields);
  return name !== undefined || online !== undefined;
};

/**
 * Whether values by number are addresses: one of them is neither on nor off and has no name, so they are not all
 * running statuses.
 */
const isKeyedByAddress = (fields: Fields): boolean =>
  Object.entries(fields).some(([key, given]) => {
    if (!/^\d{1,16}$/.test(key)) return false;
    const value = isFields(given) && !namesStatus(given) ? plainRegister(given).value : given;
    return value !== undefined && value !== null && !isContainer(value) && readFlag(value) === null;
  });

const hasAny = (node: object, isIt: (fields: Fields) => boolean): boolean => {
  for (const fields of objectsIn(node)) if (isIt(fields)) return true;
  return false;
};

/**
 * What an operation's decoder finds in a part of a frame (null where nothing could hold it), and whether it reported
 * something.
 */
function readPart<T>(read: Decode<T>, part: unknown, decoding: Decoding) {
  let isReported = false;
  const report = (problem: Text, found: unknown) => {
    isReported = true;
    decoding.report(problem, found);
  };
  try {
    const found = read(part, { ...decoding, report });
    return { found, isReported };
  } catch (error) {
    if (!(error instanceof UnreadableShape)) throw error;
    return { found: null, isReported };
  }
}

/** Values of addresses: `{address, value}`, a list of these, or an object keyed by address, as in a batch read. */
function registersFrame(shape: OperationShape): DecodeScope {
  const read = manyValuesReader(shape);
  return (scope, decoding) => {
    const { code, node } = scope;
    const { found: values, isReported } = readPart(read, { data: node }, decoding);
    if (values !== null && values.size > 0) return [{ type: "registers", code, values }];
    if (!isReported) decoding.report(msg`a frame without an address and its value`, node);
    return [];
  };
}

/** Readings of the channel's station, in any shape of the real-time data, or as one object. */
function readingsFrame(code: string, shape: OperationShape): DecodeFrame {
  const read = sensorReader(shape);
  return (frame, around) => {
    const decoding = { ...around, code, address: "" };
    const named = isFields(frame) ? textOf(scopeRoles(frame).device) : null;
    if (named !== null && named !== code) {
      decoding.leaveOut(msg`a frame about another device than the channel's`, frame);
      return [];
    }
    let { found: items, isReported } = readPart(read, frame, decoding);
    if ((items ?? []).length === 0 && !isReported && shape.items === undefined)
      ({ found: items, isReported } = readPart(read, { data: frame }, decoding));
    const { receivedAt } = around;
    if (items !== null && items.length > 0) return [{ type: "sensors", code, items, receivedAt }];
    if (!isReported) decoding.report(msg`a frame without readings`, frame);
    return [];
  };
}

/** Running statuses as in `device_status`, and whether the device is online: `online`, or a bare `status`. */
function statusFrame(shape: OperationShape): DecodeScope {
  const read = runningStatusReader(shape);
  return (scope, decoding) => {
    const { code, node } = scope;
    const online = connectionIn(scope);
    // A part that says that a device came or went has no running status, and need not be reported.
    const part = online === null ? decoding : { ...decoding, report: () => undefined };
    const { found: items, isReported } = readPart(read, { data: node }, part);
    const news: PushNews[] = online === null ? [] : [{ type: "connection", code, online }];
    if (items !== null && items.length > 0) news.push({ type: "statuses", code, items });
    if (news.length === 0 && !isReported)
      decoding.report(msg`a frame without a running status or connection`, node);
    return news;
  };
}

const mostLooked = 2_000;

/** The objects of a part of a frame, without the content of those that are `isOut`. */
function* objectsIn(node: object, isOut: (fields: Fields) => boolean = () => false): Generator<Fields> {
  const open: object[] = [node];
  for (let looked = 0; looked < mostLooked; looked += 1) {
    const next = open.pop();
    if (next === undefined) return;
    if (isFields(next)) {
      if (isOut(next)) continue;
      yield next;
    }
    for (const child of Object.values(next)) if (isContainer(child)) open.push(child);
  }
}

const connectionRoles = roleReader(
  {
    online: ["online", "isOnline", "onlineStatus"],
    status: ["status"],
    name: ["name", "statusName", "title", "label", "deviceTypeNumber", "deviceTypeNo", "typeNumber"],
    device: ["deviceCode", "deviceSn", "devCode"],
  },
  {},
);

/** Whether a scope says that its device is online; null where it says nothing or contradicts itself. */
function connectionIn({ code, node }: Scope): boolean | null {
  const isAnothers = (fields: Fields) => {
    const { device } = connectionRoles(fields);
    return typeof device === "string" && device.trim() !== code;
  };
  const flags = new Set<boolean>();
  for (const fields of objectsIn(node, isAnothers)) {
    const flag = flagOf(fields);
    if (flag !== null) flags.add(flag);
  }
  const [only] = flags;
  return flags.size === 1 && only !== undefined ? only : null;
}

/**
 * The online flag of an object. A `status` beside a name or number is a running status; alone it is the device's own.
 */
function flagOf(fields: Fields): boolean | null {
  const found = connectionRoles(fields);
  if ("online" in found) return readFlag(found.online);
  return "name" in found || !("status" in found) ? null : readFlag(found.status);
}

/** The part of a frame about one device. */
interface Scope {
  readonly code: string;
  readonly node: object;
}

interface Scopes {
  readonly list: readonly Scope[];
  /** Whether a device is named that is not followed. */
  readonly foreign: boolean;
  /** Whether there are more devices than a frame may have. */
  readonly cut: boolean;
  /** Whether a device stands inside another one; it is left out. */
  readonly mixed: boolean;
}

type Role = "device" | "code" | "topic";

const scopeRoles: ReadRoles<Role> = roleReader<Role>(
  { device: ["deviceCode", "deviceSn", "devCode"], code: ["code"], topic: ["topic"] },
  {},
);

const maxScopes = 500;
const maxDepth = 8;

type Knows = (code: string) => boolean;

class ScopeSearch {
  readonly #knows: Knows;
  readonly #found: Scope[] = [];
  /** Scopes with another device inside, whose content would be taken for theirs. */
  readonly #mixed = new Set<Scope>();
  #foreign = false;
  #cut = false;

  constructor(knows: Knows) {
    this.#knows = knows;
  }

  get scopes(): Scopes {
    const list = this.#found.filter((scope) => !this.#mixed.has(scope));
    return { list, foreign: this.#foreign, cut: this.#cut, mixed: this.#mixed.size > 0 };
  }

  visit(node: unknown, around: Scope | null, depth: number): void {
    if (!isContainer(node) || depth > maxDepth || this.#cut) return;
    if (Array.isArray(node)) for (const one of node) this.visit(one, around, depth + 1);
    else if (isFields(node)) this.#visitFields(node, around, depth);
  }

  /** Visits a part of the frame; the fields around it may name its device. */
  visitPart(part: object, fields: Fields): void {
    const named = this.#deviceIn(scopeRoles(fields));
    const scope = named === null ? null : this.#take(named, part);
    if (named === null || scope !== null) this.visit(part, scope, 0);
  }

  #visitFields(fields: Fields, around: Scope | null, depth: number): void {
    const named = this.#deviceIn(scopeRoles(fields));
    const isNew = named !== null && named !== around?.code;
    const scope = isNew ? this.#take(named, fields) : around;
    if (isNew && scope === null) return;
    for (const key of Object.keys(fields)) {
      const child = fields[key];
      if (!isContainer(child)) continue;
      const isDevice = key !== scope?.code && this.#knows(key);
      if (isDevice && scope !== null) this.#mixed.add(scope);
      this.visit(child, isDevice ? this.#take(key, child) : scope, depth + 1);
    }
  }

  #take(code: string, node: object): Scope | null {
    if (!this.#knows(code)) {
      this.#foreign = true;
      return null;
    }
    if (this.#found.length >= maxScopes) {
      this.#cut = true;
      return null;
    }
    const scope = { code, node };
    this.#found.push(scope);
    return scope;
  }

  /**
   * The device that an object names. `code` may be an envelope's 200, and a topic has other parts, so there only a
   * known device counts.
   */
  #deviceIn(found: Roles<Role>): string | null {
    const device = textOf(found.device);
    if (device !== null) return device;
    const code = textOf(found.code);
    if (code !== null && this.#knows(code)) return code;
    return textOf(found.topic)?.split("/").find(this.#knows) ?? null;
  }
}

/**
 * Finds the devices of a frame: objects that name one (`{deviceCode, …}`) or stand under its code, anywhere or only in
 * `part`. Only known devices count, so that nothing else is mistaken for a code.
 */
function scopesIn(frame: object, part: unknown, knows: Knows): Scopes {
  const search = new ScopeSearch(knows);
  if (part === frame || !isContainer(part) || !isFields(frame)) search.visit(part, null, 0);
  else search.visitPart(part, frame);
  return search.scopes;
}
