import type { Mirror } from "./mirror.js";
import { optionalTextField, type RequestHandler, RequestError, textField } from "../mqtt/requests.js";
import type { Controller } from "../greenhouse/model.js";
import type { Query } from "../greenhouse/ports.js";

export interface RequestPorts {
  readonly mirror: Mirror;
  readonly republish: () => void;
  readonly health: () => unknown;
  readonly setLogLevel: (level: string) => void;
}

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
  return { controller: id, code, address, value };
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
