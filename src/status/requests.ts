import type { Commander } from "../commands/commander.js";
import { textOf } from "../greenhouse/actuator-values.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Controller } from "../greenhouse/model.js";
import type { Query } from "../greenhouse/ports.js";
import type { Journal } from "../journal/journal.js";
import { newestRecords } from "../journal/reader.js";
import { commandOutcomes } from "../journal/records.js";
import { listingProblem } from "../journal/segments.js";
import {
  type BridgeRequestBody,
  optionalTextField,
  RequestError,
  type RequestHandler,
  textField,
} from "../mqtt/requests.js";
import type { LimitDesk } from "../limits/limits.js";
import type { PlatformClient } from "../platform/client.js";
import type { Clock } from "../runtime/clock.js";
import { parseSince } from "../runtime/duration.js";
import type { Mirror } from "../sync/mirror.js";
import { acknowledgeAlarm, isLocking, lock, release, unlock } from "./limit-requests.js";

interface RequestPorts {
  readonly mirror: Mirror;
  readonly platform: PlatformClient;
  readonly journal: Journal;
  readonly commander: Commander;
  readonly republish: () => void;
  readonly health: () => unknown;
  readonly bundle: () => Promise<unknown>;
  readonly setLogLevel: (level: string) => void;
  readonly limits: LimitDesk;
  readonly clock: Clock;
  readonly onEvent: (event: BridgeEvent) => void;
}

type Fields = BridgeRequestBody["fields"];

const levels = ["trace", "debug", "info", "warn", "error", "fatal"];

/** The fields each request knows; `transaction` is always allowed. */
const knownFields: Readonly<Record<string, readonly string[]>> = {
  refresh: ["controller"],
  read: ["controller", "address"],
  get: ["operation", "query"],
  journal: ["controller", "since", "limit"],
  acknowledge: ["controller", "actuator", "alarm", "by"],
  lock: ["controller", "actuator", "by", "reason", "until", "locked"],
  unlock: ["controller", "actuator", "by", "force"],
  release: ["controller", "actuator", "by"],
  state: ["controller"],
  log_level: ["level"],
};

/** What `bridge/request/<name>` can ask for. */
export function requestHandlers(ports: RequestPorts): ReadonlyMap<string, RequestHandler> {
  const { mirror, platform } = ports;
  const handlers: readonly (readonly [string, RequestHandler])[] = [
    ["refresh", (fields) => refresh(mirror, optionalTextField(fields, "controller"))],
    ["republish", () => republish(ports)],
    [
      "read",
      (fields, signal) => read(ports, textField(fields, "controller"), textField(fields, "address"), signal),
    ],
    [
      "get",
      (fields, signal) => platform.get(textField(fields, "operation"), queryField(fields["query"]), signal),
    ],
    ["journal", (fields) => journal(ports, fields)],
    ["acknowledge", (fields) => acknowledge(ports, fields)],
    [
      "lock",
      (fields, _, via) => {
        const controller = controllerOf(mirror, textField(fields, "controller"));
        return isLocking(fields) ? lock(ports, controller, fields, via) : unlock(ports, controller, fields);
      },
    ],
    ["unlock", (fields) => unlock(ports, controllerOf(mirror, textField(fields, "controller")), fields)],
    ["release", (fields) => release(ports, controllerOf(mirror, textField(fields, "controller")), fields)],
    ["state", (fields) => state(ports, optionalTextField(fields, "controller"))],
    ["health", () => Promise.resolve(ports.health())],
    ["bundle", () => ports.bundle()],
    ["log_level", (fields) => logLevel(ports, textField(fields, "level"))],
  ];
  return new Map(handlers.map(([name, handler]) => [name, onlyKnown(knownFields[name] ?? [], handler)]));
}

function onlyKnown(known: readonly string[], handler: RequestHandler): RequestHandler {
  return (fields, signal, via) => {
    const odd = Object.keys(fields).find((field) => !known.includes(field));
    if (odd === undefined) return handler(fields, signal, via);
    const list = [...known, "transaction"].join(", ");
    throw new RequestError(`There is no field "${odd.slice(0, 40)}" in this request. Known are: ${list}.`);
  };
}

function republish({ republish: again, mirror }: RequestPorts): Promise<unknown> {
  again();
  return Promise.resolve({ controllers: mirror.store.size });
}

function logLevel({ setLogLevel, journal }: RequestPorts, level: string): Promise<unknown> {
  if (!levels.includes(level))
    throw new RequestError(`There is no log level "${level}"; use one of ${levels.join(", ")}.`);
  setLogLevel(level);
  // Whoever may ask for it can hide what else he does; that he asked stays.
  const changes = [`log.level is ${level}, by a request`];
  journal.append({ type: "configuration_changed", changes }, { durable: false }).catch(() => undefined);
  return Promise.resolve({ level });
}

function controllerOf(mirror: Mirror, idOrCode: string): Controller {
  const controller = mirror.store.byId(idOrCode) ?? mirror.store.get(idOrCode);
  if (!controller)
    throw new RequestError(`There is no controller "${idOrCode}"; bridge/controllers lists them.`);
  return controller;
}

async function refresh(mirror: Mirror, idOrCode: string | null): Promise<unknown> {
  if (idOrCode === null) {
    await mirror.poller.refresh();
    return { controllers: mirror.store.size };
  }
  const { code } = controllerOf(mirror, idOrCode).info;
  await mirror.poller.refresh(code);
  return { controller: idOrCode };
}

async function read(
  { mirror, platform }: RequestPorts,
  idOrCode: string,
  address: string,
  signal: AbortSignal,
): Promise<unknown> {
  const { code, id } = controllerOf(mirror, idOrCode).info;
  const value = await platform.value(code, address, true, signal);
  if (value === null)
    throw new RequestError(
      `The platform shows no value for address ${address} of ${code}; check the address.`,
    );
  return { controller: id, code, address, value: textOf(value) };
}

function queryField(value: unknown): Query {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value))
    throw new RequestError('"query" must be an object of parameters.');
  const entries = Object.entries(value).map(([key, one]: [string, unknown]) => {
    if (typeof one !== "string" && typeof one !== "number" && typeof one !== "boolean") {
      throw new RequestError(`The parameter "${key}" must be a text, a number or true/false.`);
    }
    return [key, String(one)] as const;
  });
  return Object.fromEntries(entries);
}

const mostRecords = 1_000;
const usualRecords = 100;

async function journal(ports: RequestPorts, fields: Fields): Promise<unknown> {
  const controller = optionalTextField(fields, "controller");
  const since = optionalTextField(fields, "since");
  const sinceMs = since === null ? undefined : parseSince(since, ports.clock.now());
  if (sinceMs === null) throw new RequestError('"since" must be an ISO time or a duration such as "2h".');
  const limit = fields["limit"] ?? usualRecords;
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1 || limit > mostRecords) {
    throw new RequestError(`"limit" must be a whole number from 1 to ${mostRecords}.`);
  }
  const { directory } = ports.journal;
  const problem = await listingProblem(directory);
  if (problem !== null) throw new RequestError(problem.message);
  const controllers = controller === null ? undefined : new Set([controller]);
  const asked = { types: commandOutcomes, controllers };
  const records = await newestRecords(directory, { ...asked, sinceMs, limit });
  if (records.length === 0 && controller !== null && !(await isKnown(ports, controller)))
    throw new RequestError(
      `There is no controller "${controller}", nor a record of one; bridge/controllers lists them.`,
    );
  return { records };
}

/** Mirrored now, or named by any record: what is gone from the account is still in the journal. */
async function isKnown({ mirror: { store }, journal: { directory } }: RequestPorts, idOrCode: string) {
  if (store.byId(idOrCode) ?? store.get(idOrCode)) return true;
  return (await newestRecords(directory, { controllers: new Set([idOrCode]), limit: 1 })).length > 0;
}

/** Of all commands that are open, for whoever wants to know what they wait for. */
function state({ commander, mirror }: RequestPorts, idOrCode: string | null): Promise<unknown> {
  return Promise.resolve(
    commander.printed(idOrCode === null ? null : controllerOf(mirror, idOrCode).info.code),
  );
}

function acknowledge(ports: RequestPorts, fields: Fields): Promise<unknown> {
  if (fields["alarm"] !== undefined) return acknowledgeAlarm(ports, fields);
  const controller = controllerOf(ports.mirror, textField(fields, "controller"));
  const { code, id } = controller.info;
  const actuator = optionalTextField(fields, "actuator");
  if (actuator !== null && !isTarget(ports, controller, actuator))
    throw new RequestError(
      `There is no actuator "${actuator}" at controller "${id}"; leave "actuator" out to acknowledge all of it.`,
    );
  ports.commander.feed({ type: "acknowledged", code, actuator });
  return Promise.resolve({ controller: id, actuator });
}

/** One that is configured no more may still have its problem. */
function isTarget({ journal }: RequestPorts, controller: Controller, id: string): boolean {
  const { actuators, parameters, addresses, info } = controller;
  if (actuators.has(id) || parameters.has(id) || addresses.has(id)) return true;
  return journal.history().problems.some((one) => one.controller === info.code && one.actuator === id);
}
