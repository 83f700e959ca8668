import type { Commander } from "../commands/commander.js";
import { textOf } from "../greenhouse/actuator-values.js";
import type { Controller } from "../greenhouse/model.js";
import type { Query } from "../greenhouse/ports.js";
import { topicIdPattern } from "../greenhouse/topic-ids.js";
import type { Journal } from "../journal/journal.js";
import { newestRecords } from "../journal/reader.js";
import { commandOutcomes } from "../journal/records.js";
import { listingProblem } from "../journal/segments.js";
import { parseSince } from "../runtime/duration.js";
import { PublishError } from "../mqtt/connection/publish.js";
import type { PublishOptions } from "../mqtt/connection/settings.js";
import {
  answerRequest,
  type BridgeRequestBody,
  errorAnswer,
  optionalTextField,
  parseRequest,
  RequestError,
  type RequestHandler,
  RequestLane,
  textField,
} from "../mqtt/requests.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { Mirror } from "./mirror.js";

export interface RequestDeskParts {
  readonly handlers: ReadonlyMap<string, RequestHandler>;
  readonly responseTopic: (name: string) => string;
  readonly publisher: {
    publish(topic: string, payload: string, options: PublishOptions): Promise<void>;
  };
  /** Places that polling has for its reads at one host. */
  readonly concurrency: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const saidEveryMs = 60_000;
const tooMany = "Too many requests wait for an answer already; ask again later.";
const stopping = "The bridge is stopping; ask again when it is back.";

/** How to get less, where a request has a way to ask for it. */
const askForLess: ReadonlyMap<string, string> = new Map([
  ["journal", 'ask with a smaller "limit", a later "since" or one "controller"'],
  ["get", 'ask for less with "query"'],
  ["state", 'ask for one "controller"'],
]);

/**
 * Answers `bridge/request/<name>`. Anybody on the broker may ask as often as he likes, so what is done at once is bounded, apart
 * for what waits for different things: nobody's slow read holds up a request that needs no platform.
 */
export class RequestDesk {
  readonly #parts: RequestDeskParts;
  readonly #lanes: ReadonlyMap<string, RequestLane>;
  readonly #local = new RequestLane({ atOnce: 1, waiting: 50 });
  readonly #refusals = new RequestLane({ atOnce: 100, waiting: 0 });
  #refused = 0;
  #unanswered = 0;
  #saidAt: number | null = null;

  constructor(parts: RequestDeskParts) {
    this.#parts = parts;
    const platform = new RequestLane({ atOnce: readsAtOnce(parts.concurrency), waiting: 50 });
    this.#lanes = new Map([
      ["read", platform],
      ["get", platform],
      // Only waits for polling, where those who ask at the same time share one round.
      ["refresh", new RequestLane({ atOnce: 50, waiting: 0 })],
      ["journal", new RequestLane({ atOnce: 1, waiting: 10 })],
    ]);
  }

  /** `client` is who asks, where the broker is known to say so. */
  received(name: string, payload: Uint8Array, client: string | null, signal: AbortSignal): void {
    if (!topicIdPattern.test(name)) return;
    const body = parseRequest(payload);
    const lane = (body.problem === undefined && this.#lanes.get(name)) || this.#local;
    if (lane.take(() => this.#answer(name, body, signal))) return;
    this.#refused += 1;
    if (!this.#refusals.take(() => this.#publish(name, errorAnswer(body.transaction, tooMany), body)))
      this.#unanswered += 1;
    this.#say(name, client);
  }

  async #answer(name: string, body: BridgeRequestBody, signal: AbortSignal): Promise<void> {
    const answer = signal.aborted
      ? errorAnswer(body.transaction, stopping)
      : await answerRequest(name, body, this.#parts.handlers, signal);
    await this.#publish(name, answer, body);
  }

  /** Ends with the broker's word on it, so that answers cannot pile up before a slow broker either. */
  async #publish(name: string, answer: string, { transaction }: BridgeRequestBody): Promise<void> {
    try {
      await this.#send(name, answer).catch(async (error: unknown) => {
        if (!(error instanceof PublishError) || error.kind !== "invalid") throw error;
        await this.#send(name, errorAnswer(transaction, tooLarge(name, error)));
      });
    } catch (error) {
      this.#parts.log.debug({ request: name, reason: String(error) }, "an answer was not published");
    }
  }

  #send(name: string, answer: string): Promise<void> {
    const { publisher, responseTopic } = this.#parts;
    return publisher.publish(responseTopic(name), answer, { retain: false, qos: 1 });
  }

  /** Once a minute, as those who ask too often do not stop at that. */
  #say(name: string, client: string | null): void {
    const { clock, log } = this.#parts;
    const now = clock.monotonic();
    if (this.#saidAt !== null && now - this.#saidAt < saidEveryMs) return;
    this.#saidAt = now;
    log.warn(
      { request: name, client, refused: this.#refused, unanswered: this.#unanswered },
      "more requests come than are answered; some were told to ask again later",
    );
  }
}

/** The error names the sizes. */
function tooLarge(name: string, error: PublishError): string {
  const less = askForLess.get(name);
  return `The answer is too large and was ${error.message}${less === undefined ? "" : `; ${less}`}.`;
}

/** At most half of polling's places, and two of the connections that commands go out on: both have to go on. */
const readsAtOnce = (concurrency: number): number => Math.min(2, Math.max(1, Math.floor(concurrency / 2)));

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

/** The fields each request knows; `transaction` is always allowed. */
const knownFields: Readonly<Record<string, readonly string[]>> = {
  refresh: ["controller"],
  read: ["controller", "address"],
  get: ["operation", "query"],
  journal: ["controller", "since", "limit"],
  acknowledge: ["controller", "actuator"],
  state: ["controller"],
  log_level: ["level"],
};

/** What `bridge/request/<name>` can ask for. */
export function requestHandlers(ports: RequestPorts): ReadonlyMap<string, RequestHandler> {
  const { mirror } = ports;
  const handlers: readonly (readonly [string, RequestHandler])[] = [
    ["refresh", (fields) => refresh(mirror, optionalTextField(fields, "controller"))],
    ["republish", () => republish(ports)],
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
    ["state", (fields) => state(ports, optionalTextField(fields, "controller"))],
    ["health", () => Promise.resolve(ports.health())],
    ["log_level", (fields) => logLevel(ports, textField(fields, "level"))],
  ];
  return new Map(handlers.map(([name, handler]) => [name, onlyKnown(knownFields[name] ?? [], handler)]));
}

function onlyKnown(known: readonly string[], handler: RequestHandler): RequestHandler {
  return (fields, signal) => {
    const odd = Object.keys(fields).find((field) => !known.includes(field));
    if (odd === undefined) return handler(fields, signal);
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
