import type { Commander } from "../bridge/commands/commander.js";
import type { Journal } from "../journal/journal.js";
import { textOf } from "../greenhouse/actuator-values.js";
import { newestRecords } from "../journal/reader.js";
import { commandOutcomes } from "../journal/record-filter.js";
import { parseSince } from "../journal/since.js";
import type { Mirror } from "./mirror.js";
import {
  type BridgeRequestBody,
  optionalTextField,
  type RequestHandler,
  RequestError,
  textField,
} from "../mqtt/requests.js";
import type { Controller } from "../greenhouse/model.js";
import type { Query } from "../greenhouse/ports.js";

export interface RequestPorts {
  readonly mirror: Mirror;
  readonly journal: Journal;
  readonly commander: Commander;
  readonly now: () => number;
  readonly republish: () => void;
  readonly health: () => unknown;
  readonly setLogLevel: (level: string) => void;
}

type Fields = BridgeRequestBody["fields"];

const levels = ["trace", "debug", "info", "warn", "error", "fatal"];

/** What `bridge/request/<name>` can ask for. */
export function requestHandlers(ports: RequestPorts): ReadonlyMap<string, RequestHandler> {
  const { mirror } = ports;
  return new Map<string, RequestHandler>([
    ["refresh", (fields) => refresh(mirror, optionalTextField(fields, "controller"))],
    [
      "republish",
      () => {
        ports.republish();
        return Promise.resolve({ controllers: mirror.store.size });
      },
    ],
    [
      "read",
      (fields, signal) => read(mirror, textField(fields, "controller"), textField(fields, "address"), signal),
    ],
    [
      "get",
      (fields, signal) =>
        mirror.platform.get(textField(fields, "operation"), queryField(fields["query"]), signal),
    ],
    ["journal", (fields) => journal(ports, fields)],
    ["acknowledge", (fields) => acknowledge(ports, fields)],
    ["health", () => Promise.resolve(ports.health())],
    [
      "log_level",
      (fields) => {
        const level = textField(fields, "level");
        if (!levels.includes(level))
          throw new RequestError(`There is no log level "${level}"; use one of ${levels.join(", ")}.`);
        ports.setLogLevel(level);
        return Promise.resolve({ level });
      },
    ],
  ]);
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
  mirror: Mirror,
  idOrCode: string,
  address: string,
  signal: AbortSignal,
): Promise<unknown> {
  const { code, id } = controllerOf(mirror, idOrCode).info;
  const value = await mirror.platform.value(code, address, true, signal);
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
  const sinceMs = since === null ? undefined : parseSince(since, ports.now());
  if (sinceMs === null) throw new RequestError('"since" must be an ISO time or a duration such as "2h".');
  const limit = fields["limit"] ?? usualRecords;
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1 || limit > mostRecords) {
    throw new RequestError(`"limit" must be a whole number from 1 to ${mostRecords}.`);
  }
  const controllers = controller === null ? undefined : new Set([controller]);
  return {
    records: await newestRecords(ports.journal.directory, {
      types: commandOutcomes,
      controllers,
      sinceMs,
      limit,
    }),
  };
}

function acknowledge({ mirror, commander }: RequestPorts, fields: Fields): Promise<unknown> {
  const { code, id } = controllerOf(mirror, textField(fields, "controller")).info;
  const actuator = optionalTextField(fields, "actuator");
  commander.acknowledge(code, actuator);
  return Promise.resolve({ controller: id, actuator });
}
