import { msg } from "../language/text.js";
import { ignored } from "../runtime/failures.js";
import type { LiveSettings } from "../config/live-settings.js";
import { suggestion } from "../runtime/similar-words.js";
import { textOf } from "../greenhouse/actuator-kinds.js";
import type { Via } from "../greenhouse/command/outcomes.js";
import { wholeController } from "../greenhouse/limits.js";
import type { Controller } from "../greenhouse/model.js";
import { readOnlyText } from "../greenhouse/wording.js";
import { logLevels } from "../runtime/log-levels.js";
import type { Query } from "../greenhouse/ports.js";
import type { Journal } from "../journal/journal.js";
import { newestRecords } from "../journal/reader.js";
import { commandOutcomes, type RecordBody } from "../journal/records.js";
import { listingProblem } from "../journal/segments.js";
import {
  type BridgeRequestBody,
  flagField,
  optionalTextField,
  RequestError,
  type RequestHandler,
  textField,
} from "../mqtt/requests.js";
import type { Core, RequestRow } from "../feature/core.js";
import type { LimitService } from "../limits/service.js";
import type { PlatformClient } from "../platform/client.js";
import { type Clock, onDisk } from "../runtime/clock.js";
import { parseDuration, parseSince, parseUntil } from "../runtime/duration.js";
import { isOneLine, notOneLine } from "../runtime/plain-text.js";
import { withoutSecrets } from "../runtime/redaction.js";
import type { Status } from "./status.js";

type Fields = BridgeRequestBody["fields"];

/** A request about a controller. */
interface Asked {
  readonly controller: Controller;
  readonly fields: Fields;
  readonly via: Via;
}

type Engine = LimitService["engine"];

/** The requests `bridge/request/<name>` that the bridge itself answers, without those of features. */
export function requestRows(
  core: Core,
  status: Pick<Status, "health" | "bundle">,
  live: LiveSettings,
  setLogLevel: (level: string) => void,
): readonly RequestRow[] {
  const { platform, commands } = core;
  const controller = (fields: Fields) => controllerOf(core, textField(fields, "controller"));
  const about =
    (run: typeof unlock): RequestHandler =>
    (fields, _, via) =>
      run(commands.limits.engine, { controller: controller(fields), fields, via }, core);
  // The fields that each request may have; `transaction` is always allowed.
  return [
    ["refresh", "controller", (fields, signal) => refresh(core, fields, signal)],
    ["republish", "", () => republish(core)],
    ["read", "controller address", (fields, signal) => read(platform, controller(fields), fields, signal)],
    ["get", "operation query", (fields, signal) => get(platform, fields, signal)],
    ["journal", "controller since limit", (fields) => newest(core, fields)],
    ["acknowledge", "controller actuator alarm by", (fields, _, via) => acknowledge(core, fields, via)],
    [
      "lock",
      "controller actuator by reason until locked",
      // A sender with one topic for both, such as a lock of Home Assistant, unlocks with `"locked": false`.
      (fields, ...of) => about(flagField(fields, "locked", true) ? lock : unlock)(fields, ...of),
    ],
    ["unlock", "controller actuator by force", about(unlock)],
    ["release", "controller actuator by", about(release)],
    ["state", "controller", (fields) => state(core, optionalTextField(fields, "controller"))],
    ["health", "", () => status.health()],
    ["bundle", "redact", (fields) => status.bundle(flagField(fields, "redact", false))],
    ["log_level", "level", (fields) => logLevel(core, setLogLevel, textField(fields, "level"))],
    ["read_only", "read_only by", (fields, _, via) => readOnly(core, live, fields, via)],
  ];
}

export const requestHandlers = (rows: readonly RequestRow[]): ReadonlyMap<string, RequestHandler> =>
  new Map(rows.map(([name, known, handler]) => [name, onlyKnown(known.split(" "), handler)]));

/**
 * Asks the platform. Secrets are removed from the answer: anybody may listen, and a list may hold video addresses, each
 * a credential of its own.
 */
async function get(platform: PlatformClient, fields: Fields, signal: AbortSignal): Promise<unknown> {
  const found = await platform.get(textField(fields, "operation"), queryField(fields["query"]), signal);
  const text = JSON.stringify(found) as string | undefined;
  return text === undefined ? found : JSON.parse(withoutSecrets(() => platform.secrets())(text));
}

function onlyKnown(known: readonly string[], handler: RequestHandler): RequestHandler {
  return (fields, signal, via) => {
    const odd = Object.keys(fields).find((field) => !known.includes(field));
    if (odd === undefined) return handler(fields, signal, via);
    const list = [...known, "transaction"].filter((field) => field !== "").join(", ");
    throw new RequestError(msg`There is no field "${odd.slice(0, 40)}" in this request. Known are: ${list}.`);
  };
}

/** Notes who asked for a change; the journal would otherwise have only its result. */
function note(journal: Pick<Journal, "append">, record: RecordBody): void {
  journal.append(record, { durable: false }).catch(ignored);
}

function republish({ retained, mirror }: Core): unknown {
  retained.republish();
  return { controllers: mirror.store.size };
}

async function logLevel(
  { journal, clock }: Core,
  setLogLevel: (level: string) => void,
  level: string,
): Promise<unknown> {
  if (!logLevels.some((known) => known === level))
    throw new RequestError(msg`There is no log level "${level}"; use one of ${logLevels.join(", ")}.`);
  setLogLevel(level);
  // A sender who may ask for this can hide later acts from the log; the journal keeps this request.
  const changes = [`log.level is ${level}, by a request`];
  const record = { type: "configuration_changed", changes } as const;
  await onDisk(clock, () => journal.append(record, { durable: true }));
  return { level };
}

const overtaken = msg`This did not let commands pass: while it waited for the disk, somebody made the bridge read-only, or it read its configuration again. Find out who, and ask again if commands are to pass.`;

/**
 * Sets read-only for this run. Anybody who may ask at all can switch commands off; only a logged-in operator of the
 * page, whose `via` is a text, can switch them on again.
 */
export async function readOnly(
  { journal, clock, onEvent }: Pick<Core, "journal" | "clock" | "onEvent">,
  live: Pick<LiveSettings, "chooseReadOnly" | "choiceKept" | "placeOfChoice" | "forcedBecause">,
  fields: Fields,
  via: Via,
): Promise<unknown> {
  const read_only = flagField(fields, "read_only", true);
  const by = lineField(fields, "by");
  if (!read_only && typeof via !== "string")
    throw new RequestError(
      msg`Only an operator of the page can let commands pass again; over MQTT the bridge can only be made read-only.`,
    );
  const forced = live.forcedBecause;
  if (!read_only && forced !== null)
    throw new RequestError(
      msg`The bridge keeps itself read-only, which nobody can switch off here: ${forced}.`,
    );
  const place = live.placeOfChoice();
  const choose = () => {
    if (!live.chooseReadOnly(read_only, by, place)) throw new RequestError(overtaken);
    onEvent({
      type: "read_only_changed",
      severity: read_only ? "warning" : "info",
      message: String(readOnlyText(by, read_only)),
      at: clock.now(),
      facts: { read_only, by },
    });
  };
  const changes = [`commands.read_only is ${read_only} for this run${by === null ? "" : ` by ${by}`}`];
  // Switching commands off takes effect at once; switching them on waits until the journal has it.
  if (read_only) choose();
  await onDisk(clock, async () => {
    const record = { type: "configuration_changed", changes, chosen: { read_only, by } } as const;
    await journal.append(record, { durable: true });
    if (!read_only) choose();
    live.choiceKept(place);
  });
  return { read_only };
}

function controllerOf({ mirror }: Pick<Core, "mirror">, idOrCode: string): Controller {
  const controller = mirror.store.find(idOrCode);
  if (!controller)
    throw new RequestError(msg`There is no controller "${idOrCode}"; bridge/controllers lists them.`);
  return controller;
}

/** At most so many failed reads are named. */
const mostFailedNamed = 50;

async function refresh(core: Core, fields: Fields, signal: AbortSignal): Promise<unknown> {
  const { mirror } = core;
  const controller = optionalTextField(fields, "controller");
  const failed = await mirror.poller.refresh(
    controller === null ? undefined : controllerOf(core, controller).info.code,
  );
  // If the bridge stops meanwhile, not everything was read.
  signal.throwIfAborted();
  const asked = controller === null ? { controllers: mirror.store.size } : { controller };
  if (failed.length === 0) return { ...asked, partial: false };
  const named = failed.slice(0, mostFailedNamed).map(({ code, request, why }) => ({
    controller: code === null ? null : (mirror.store.get(code)?.info.id ?? code),
    request,
    why,
  }));
  return { ...asked, partial: true, failed: named, failed_count: failed.length };
}

async function read(
  platform: PlatformClient,
  { info: { code, id } }: Controller,
  fields: Fields,
  signal: AbortSignal,
): Promise<unknown> {
  const address = textField(fields, "address");
  const value = await platform.value(code, address, true, signal);
  if (value === null)
    throw new RequestError(
      msg`The platform shows no value for address ${address} of ${code}; check the address.`,
    );
  return { controller: id, code, address, value: textOf(value) };
}

function queryField(value: unknown): Query {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value))
    throw new RequestError(msg`"query" must be an object of parameters.`);
  const entries = Object.entries(value).map(([key, one]: [string, unknown]) => {
    if (typeof one !== "string" && typeof one !== "number" && typeof one !== "boolean") {
      throw new RequestError(msg`The parameter "${key}" must be a text, a number or true/false.`);
    }
    return [key, String(one)] as const;
  });
  return Object.fromEntries(entries);
}

const mostRecords = 1_000;
const usualRecords = 100;

async function newest(core: Core, fields: Fields): Promise<unknown> {
  const controller = optionalTextField(fields, "controller");
  const since = optionalTextField(fields, "since");
  const sinceMs = since === null ? undefined : parseSince(since, core.clock.now());
  if (sinceMs === null) throw new RequestError(msg`"since" must be an ISO time or a duration such as "2h".`);
  const limit = fields["limit"] ?? usualRecords;
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1 || limit > mostRecords) {
    throw new RequestError(msg`"limit" must be a whole number from 1 to ${mostRecords}.`);
  }
  const { directory } = core.journal;
  const problem = await listingProblem(directory);
  if (problem !== null) throw new RequestError(problem.text);
  const controllers = controller === null ? undefined : new Set([controller]);
  const asked = { types: commandOutcomes, controllers };
  const records = await newestRecords(directory, { ...asked, sinceMs, limit });
  if (records.length === 0 && controller !== null && !(await isKnown(core, controller)))
    throw new RequestError(
      msg`There is no controller "${controller}", nor a record of one; bridge/controllers lists them.`,
    );
  return { records };
}

/** Whether a controller is mirrored or has any record: one gone from the account is still in the journal. */
async function isKnown({ mirror: { store }, journal: { directory } }: Core, idOrCode: string) {
  if (store.find(idOrCode)) return true;
  return (await newestRecords(directory, { controllers: new Set([idOrCode]), limit: 1 })).length > 0;
}

/** All open commands, with what each waits for. */
const state = (core: Core, idOrCode: string | null): unknown =>
  core.commands.commander.print(idOrCode === null ? null : controllerOf(core, idOrCode).info.code);

export async function acknowledge(
  core: Pick<Core, "mirror" | "journal" | "commands" | "clock">,
  fields: Fields,
  via: Via,
): Promise<unknown> {
  const { journal, commands, clock } = core;
  if (fields["alarm"] !== undefined) return acknowledgeAlarm(commands.limits, fields, clock);
  const controller = controllerOf(core, textField(fields, "controller"));
  const { code, id } = controller.info;
  const actuator = optionalTextField(fields, "actuator");
  if (actuator !== null && !isTarget(journal, controller, actuator))
    throw new RequestError(
      msg`There is no actuator "${actuator}" at controller "${id}"; leave "actuator" out to acknowledge all of it.`,
    );
  const by = lineField(fields, "by")?.slice(0, mostText) ?? null;
  commands.commander.feed({ type: "acknowledged", code, actuator });
  const record = { type: "acknowledged", controller: code, actuator, by, via } as const;
  // What the lanes have to remember of it was appended before this record, so once the disk has this, it has that too.
  await onDisk(clock, () => journal.append(record, { durable: true }));
  return { controller: id, actuator };
}

/** Whether an actuator exists; one that is not configured any more may still have a problem to acknowledge. */
function isTarget(journal: Journal, controller: Controller, id: string): boolean {
  const { actuators, parameters, addresses, info } = controller;
  if (actuators.has(id) || parameters.has(id) || addresses.has(id)) return true;
  return journal
    .history()
    .lanes.some(
      ({ controller: code, actuator, memory }) =>
        code === info.code && actuator === id && memory.problem !== undefined,
    );
}

const mostText = 200;
/** The journal cuts longer names, and a cut name could not unlock any more. */
const mostName = 64;

/** A text field of one line: names appear in logs and tables, and unlocking needs the same spelling. */
function lineField(fields: Fields, key: string): string | null {
  const text = optionalTextField(fields, key);
  if (text === null || isOneLine(text)) return text;
  throw new RequestError(notOneLine(key));
}

function nameField(fields: Fields): string {
  const text = (lineField(fields, "by") ?? textField(fields, "by")).trim();
  if (text !== "" && text.length <= mostName) return text;
  throw new RequestError(msg`"by" must be a text of 1 to ${mostName} characters.`);
}

const isOfAll = (fields: Fields): boolean => optionalTextField(fields, "actuator") === null;

/** The actuators of a request: the named one, or all of the controller. */
function actuatorsOf({ actuators, info }: Controller, fields: Fields): readonly string[] {
  const actuator = optionalTextField(fields, "actuator");
  if (actuator === null) return [...actuators.keys()];
  if (actuators.has(actuator)) return [actuator];
  const meant = suggestion(actuator, [...actuators.keys()]);
  throw new RequestError(
    meant === ""
      ? msg`There is no actuator "${actuator}" at controller "${info.id}".`
      : msg`There is no actuator "${actuator}" at controller "${info.id}"${meant}`,
  );
}

/** An ISO time of four-digit years ends here. */
const latestMs = Date.parse("9999-12-31T23:59:59.999Z");

/** End in epoch ms; null for none. */
function untilOf(fields: Fields, now: number): number | null {
  const text = optionalTextField(fields, "until");
  if (text === null) return null;
  const until = parseUntil(text, now);
  if (until === null)
    throw new RequestError(msg`"until" must be an ISO time with its zone, or a duration such as "2h".`);
  if (until > latestMs)
    throw new RequestError(msg`"until" lies beyond the year 9999; leave it out for a lock without an end.`);
  if (until <= now) throw new RequestError(msg`"until" lies in the past; give a time that is still to come.`);
  return until;
}

/** Locks actuators: everything but stop is refused until they are unlocked. */
export async function lock(
  engine: Engine,
  { controller, fields, via }: Asked,
  { clock, onEvent }: Pick<Core, "clock" | "onEvent">,
): Promise<unknown> {
  const { id, code } = controller.info;
  const actuators = actuatorsOf(controller, fields);
  const by = nameField(fields);
  const reason = lineField(fields, "reason")?.slice(0, mostText) ?? null;
  const now = clock.now();
  const until = untilOf(fields, now);
  notOfOthers(engine, controller, actuators, by);
  const endsAt = until === null ? Infinity : clock.monotonic() + (until - now);
  const locked = isOfAll(fields) ? [...actuators, wholeController] : actuators;
  const isSpan = parseDuration(optionalTextField(fields, "until") ?? "") !== null;
  await engine.change(code, locked, { lock: { by, via, reason, since: now, until, endsAt, isSpan } });
  // A lock of one actuator replaces that of the whole controller; its other actuators keep a lock each.
  if (!isOfAll(fields)) await engine.change(code, [wholeController], { lock: null });
  const end = until === null ? null : new Date(until).toISOString();
  for (const actuator of actuators)
    onEvent({
      type: "locked",
      severity: "info",
      at: now,
      message: `${by} has locked ${id}/${actuator}${reason === null ? "" : `: ${reason}`}.`,
      facts: { controller: id, actuator, by, reason, until: end },
    });
  return { controller: id, actuators, by, until: end };
}

function notOfOthers(engine: Engine, { info }: Controller, actuators: readonly string[], by: string): void {
  for (const actuator of actuators) {
    const held = engine.inForce(info.code, actuator)?.lock;
    if (held && held.by !== by)
      throw new RequestError(
        msg`${info.id}/${actuator} is locked by ${held.by}; ask there, or unlock with "force": true.`,
      );
  }
}

export async function unlock(
  engine: Engine,
  { controller, fields, via }: Asked,
  { clock, onEvent, journal }: Pick<Core, "clock" | "onEvent" | "journal">,
): Promise<unknown> {
  const { id, code } = controller.info;
  const asked = actuatorsOf(controller, fields);
  const by = nameField(fields);
  const force = flagField(fields, "force", false);
  const all = isOfAll(fields) ? engine.lockable(code) : asked;
  const locked = all.filter((one) => engine.inForce(code, one)?.lock);
  if (locked.length === 0) throw new RequestError(msg`Nothing is locked there at controller "${id}".`);
  if (!force) notOfOthers(engine, controller, locked, by);
  const actuator = isOfAll(fields) ? null : (asked[0] ?? null);
  note(journal, { type: "freed", controller: code, actuator, what: "lock", by, via });
  // The lock of the whole controller ends with that of any actuator; its other actuators keep a lock each.
  await engine.change(code, [...locked, wholeController], { lock: null });
  const actuators = locked.filter((one) => one !== wholeController);
  for (const actuator of actuators) {
    const message = `${by} has unlocked ${id}/${actuator}.`;
    const facts = { controller: id, actuator, by };
    onEvent({ type: "unlocked", severity: "info", message, at: clock.now(), facts });
  }
  return { controller: id, actuators, by };
}

/** Ends the hold of a command. */
export async function release(
  engine: Engine,
  { controller, fields, via }: Asked,
  { journal }: Pick<Core, "journal">,
): Promise<unknown> {
  const { id, code } = controller.info;
  const by = nameField(fields);
  const actuators = actuatorsOf(controller, fields).filter((one) => engine.inForce(code, one)?.hold);
  if (actuators.length === 0) throw new RequestError(msg`Nothing is held there at controller "${id}".`);
  const actuator = isOfAll(fields) ? null : (actuators[0] ?? null);
  note(journal, { type: "freed", controller: code, actuator, what: "hold", by, via });
  await engine.change(code, actuators, { hold: null });
  return { controller: id, actuators, by };
}

/** Acknowledges one alarm, or with `all` each that is on. Nothing is cleared. */
async function acknowledgeAlarm({ alarms }: LimitService, fields: Fields, clock: Clock): Promise<unknown> {
  const id = textField(fields, "alarm");
  const by = lineField(fields, "by")?.slice(0, mostText) ?? null;
  const { ids: acknowledged, written } = alarms.acknowledge(id, by);
  await onDisk(clock, written);
  if (acknowledged.length === 0 && id !== "all")
    throw new RequestError(
      msg`There is no alarm "${id.slice(0, 80)}" that is on; the topics below alarm/ show them.`,
    );
  return { alarm: id, by, acknowledged };
}
