import { readPayload } from "../commands/payload.js";
import { outcomes } from "../greenhouse/command/outcomes.js";
import { commandOutcomes, type JournalRecord } from "../journal/records.js";
import { parseSince } from "../runtime/duration.js";
import type { Role, Session } from "../page/protocol.js";
import type { Sessions, Visitor } from "./access.js";
import type { PageService } from "./service.js";
import { csvOf } from "./views.js";

/** A call that was let in. */
export interface Call {
  readonly method: string;
  /** Without `/api/`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  readonly remote: string;
  readonly visitor: Visitor;
  readonly signal: AbortSignal;
  /** Aborts also when whoever asked has gone. */
  readonly whileWaited: () => AbortSignal;
  /** Reads the JSON of a POST, or answers why that is none. */
  readonly read: () => Promise<{ readonly body: unknown } | Answer>;
}

/** The same with its JSON. */
interface Read extends Call {
  readonly body: unknown;
}

export interface Answer {
  readonly status: number;
  readonly json?: unknown;
  /** Instead of JSON. */
  readonly text?: string | Buffer;
  /** Instead of all at once: a line of JSON each. */
  readonly lines?: AsyncIterable<unknown>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiParts {
  readonly service: PageService;
  readonly sessions: Sessions;
  readonly checked: {
    /** Somebody showed a wrong token or password; from which address. */
    refusedLogin(shown: "http.token" | "password", address: string | null): void;
  };
}

export const failure = (
  status: number,
  error: string,
  message: string,
  headers?: Answer["headers"],
): Answer => ({ status, json: { error, message }, ...(headers && { headers }) });

const badRequest = (message: string) => failure(400, "bad_request", message);
const notFound = (what: string) => failure(404, "not_found", `There is no ${what}.`);
const busy = (message: string) => failure(503, "busy", message, { "retry-after": "5" });
const ok = (json: unknown): Answer => ({ status: 200, json });

type Run = (call: Read, id: string, parts: ApiParts) => Answer | Promise<Answer>;

/** What each path takes: who may, which parts of a query there are, and what is done. */
interface Route {
  readonly path: RegExp;
  readonly method: "GET" | "POST";
  readonly role: Role | null;
  readonly query?: readonly string[];
  /** The keys its JSON may have; absent where what takes it says what is wrong with it. */
  readonly keys?: readonly string[];
  readonly run: Run;
}

/** The answer to a call of the API. */
export async function answer(call: Call, parts: ApiParts): Promise<Answer> {
  const known = routes.filter(({ path }) => path.test(call.path));
  const method = call.method === "HEAD" ? "GET" : call.method;
  const route = known.find((one) => one.method === method);
  if (route === undefined && known.length > 0) {
    const allowed = known.map((one) => (one.method === "GET" ? "GET, HEAD" : one.method)).join(", ");
    return failure(405, "method", `This takes ${allowed} alone.`, { allow: allowed });
  }
  if (route === undefined) return notFound("such path in the API; docs/page.md lists them");
  const refused = roleRefusal(call.visitor, route.role);
  if (refused !== null) return refused;
  const odd = [...call.query.keys()].find((key) => !(route.query ?? []).includes(key));
  if (odd !== undefined) return badRequest(`There is no parameter "${odd.slice(0, 40)}" here.`);
  const id = decoded(route.path.exec(call.path)?.[1] ?? "");
  if (id === null) return badRequest("The path is not encoded as a URL's.");
  const read = route.method === "POST" ? await call.read() : { body: undefined };
  if (!("body" in read)) return read;
  const unknown = Object.keys(fieldsOf(read.body)).find((key) => route.keys?.includes(key) === false);
  if (unknown !== undefined) return badRequest(`There is no key "${unknown.slice(0, 40)}" here.`);
  return route.run({ ...call, ...read }, id, parts);
}

function roleRefusal({ role }: Visitor, needed: Role | null): Answer | null {
  if (needed === null) return null;
  if (role === null)
    return failure(401, "login_required", "Log in first, or send http.token as a bearer token.");
  if (needed === "operator" && role !== "operator")
    return failure(403, "role", "A viewer may look; log in as an operator to act.");
  return null;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function session({ visitor }: Read): Answer {
  const { user, role, via } = visitor;
  return ok({ user, role, via, login: role === null } satisfies Session);
}

async function login({ body, remote }: Read, _: string, parts: ApiParts): Promise<Answer> {
  const { sessions, service, checked } = parts;
  const { username, password } = fieldsOf(body);
  if (typeof username !== "string" || typeof password !== "string")
    return badRequest('Send {"username": "...", "password": "..."}.');
  const verdict = await sessions.login(username, password, remote);
  switch (verdict.kind) {
    case "in":
      service.sources.log.info({ user: username, address: remote }, "logged in to the page");
      return { status: 204, headers: { "set-cookie": verdict.cookie } };
    case "wrong":
      // People type passwords into the wrong field, so the name is left out.
      checked.refusedLogin("password", remote);
      return failure(401, "wrong_login", "There is no such user, or the password is another one.");
    case "blocked":
      return failure(429, "too_many_logins", "Too many wrong logins; try again later.", {
        "retry-after": "20",
      });
    case "busy":
      return busy("Too many log in at once; try again.");
  }
}

const logout: Run = ({ visitor }, _, { sessions }) => ({
  status: 204,
  headers: { "set-cookie": sessions.logout(visitor.session) },
});

function controllers({ sources: { store } }: PageService) {
  const rows = [...store.controllers()].map(({ info, availability, problem }) => {
    const { id, code, name, type, record } = info;
    const station = { station: record?.stationName ?? null, station_id: record?.stationId ?? null };
    return [
      id,
      { id, code, name, type, type_name: record?.typeName ?? null, ...station, availability, problem },
    ];
  });
  return Object.fromEntries(rows) as unknown;
}

const controller: Run = (_, id, { service }) => {
  const view = service.controller(id);
  return view === null ? notFound(`controller "${id.slice(0, 100)}"`) : ok(view);
};

/** Enough for a line as wide as a phone. */
const sparkPoints = 96;
const allPoints = 1_440;

const trends: Run = ({ query }, id, { service }) => {
  const found = service.controllerOf(id);
  const sensor = query.get("sensor");
  if (found === undefined) return notFound(`controller "${id.slice(0, 100)}"`);
  if (sensor === null) return ok(service.trends.of(found.info.id, found.sensors.keys(), sparkPoints));
  return found.sensors.has(sensor)
    ? ok(service.trends.of(found.info.id, [sensor], allPoints))
    : notFound(`sensor "${sensor.slice(0, 100)}" at this controller`);
};

const usualRecords = 100;
const mostRecords = 1_000;

async function journal({ query, accept }: Read, _: string, { service }: ApiParts): Promise<Answer> {
  const { clock, past } = service.sources;
  const text = (key: string) => query.get(key) ?? undefined;
  const outcome = outcomes.find((one) => one === text("outcome"));
  if (outcome === undefined && query.has("outcome"))
    return badRequest(`"outcome" is one of ${outcomes.join(", ")}.`);
  const since = text("since");
  const sinceMs = since === undefined ? undefined : parseSince(since, clock.now());
  if (sinceMs === null) return badRequest('"since" is an ISO time or a duration such as "2h".');
  const limit = wholeNumber(text("limit") ?? String(usualRecords));
  if (limit === null || limit < 1 || limit > mostRecords)
    return badRequest(`"limit" is a whole number from 1 to ${mostRecords}.`);
  const before = wholeNumber(text("before") ?? "0");
  if (before === null) return badRequest('"before" is the "next" of the page before.');
  const id = text("controller");
  const controllers = id === undefined ? undefined : new Set([id, service.controllerOf(id)?.info.code ?? id]);
  const filter = { types: commandOutcomes, controllers, outcome, sinceMs };
  const found = await past({ ...filter, ...(before > 0 && { before }), limit: limit + 1 });
  const records = found.toReversed().slice(0, limit);
  const next = found.length > limit ? (records.at(-1)?.seq ?? null) : null;
  // As RFC 8288 says, since a table has no room for it.
  const headers: NonNullable<Answer["headers"]> =
    next === null ? {} : { link: `<?before=${next}>; rel="next"` };
  return accept.includes("text/csv") ? csv(records, headers) : { ...ok({ records, next }), headers };
}

const wholeNumber = (text: string): number | null => (/^\d{1,15}$/.test(text) ? Number(text) : null);

const columns = [
  ...["at", "type", "controller", "actuator", "command", "value", "outcome", "reason", "message"],
  ...["by", "via", "read_back", "sent_at", "finished_at", "duration_ms", "id", "seq"],
];

const csv = (records: readonly JournalRecord[], headers: Answer["headers"]): Answer => ({
  status: 200,
  text: csvOf(
    records.map((record) => ({ ...record, ...("result" in record ? record.result : {}) })),
    columns,
  ),
  headers: {
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": 'attachment; filename="journal.csv"',
    ...headers,
  },
});

async function command(_: Read, id: string, { service }: ApiParts): Promise<Answer> {
  const followed = service.board.find(id);
  if (followed !== null) {
    const { controller: at, actuator, phase } = followed.document;
    return ok({ id, controller: at, actuator, phase, result: followed.result });
  }
  const [record] = await service.sources.past({ types: commandOutcomes, id, limit: 1 });
  if (record === undefined || !("result" in record)) return notFound(`command "${id.slice(0, 100)}"`);
  const { result } = record;
  return ok({ id, controller: result.controller, actuator: result.actuator, phase: "done", result });
}

/** The way of a command over MQTT, from its payload on; what could not be read there is the caller's mistake here. */
async function send({ body, visitor }: Read, _: string, { service }: ApiParts): Promise<Answer> {
  const { controller: at, actuator, parameter, ...rest } = fieldsOf(body);
  const [targetId, other] = [actuator ?? parameter, actuator === undefined ? undefined : parameter];
  if (typeof at !== "string" || typeof targetId !== "string" || other !== undefined)
    return badRequest('Send {"controller": "...", "actuator" or "parameter": "...", "command": ...}.');
  const payload = new TextEncoder().encode(JSON.stringify(rest));
  const read = readPayload(payload);
  if ("reason" in read && read.reason === "bad_payload") return badRequest(read.message);
  const asked = {
    controllerId: service.controllerOf(at)?.info.id ?? at,
    target: actuator === undefined ? "parameter" : "actuator",
    ...{ targetId, payload, retained: false, expiryMs: null, response: null },
    ...{ by: visitor.user, via: visitor.via },
  } as const;
  const { id, refused } = await service.board.refusal(() => service.sources.submit(asked));
  return refused === null ? { status: 202, json: { id } } : { status: 409, json: refused };
}

/** Requests that say who asks. */
const acts: ReadonlySet<string> = new Set(["lock", "unlock", "release", "acknowledge"]);

async function request(
  { body, signal, visitor }: Read,
  name: string,
  { service }: ApiParts,
): Promise<Answer> {
  const sender = acts.has(name) && visitor.user !== null ? { by: visitor.user } : {};
  const payload = new TextEncoder().encode(JSON.stringify({ ...sender, ...fieldsOf(body) }));
  const text = await service.sources.ask(name, payload, signal, visitor.via);
  if (text === null) return busy("Too many requests wait for an answer already; ask again later.");
  const json = fieldsOf(JSON.parse(text));
  return { status: json["status"] === "error" ? 400 : 200, json };
}

const doctor: Run = ({ whileWaited }, _, { service }) => {
  const lines = service.sources.doctor?.(whileWaited());
  return lines === undefined ? notFound("doctor here") : { status: 200, lines };
};

const fastest = 10_000;

const demo: Run = ({ body }, _, { service }) => {
  const { speed } = fieldsOf(body);
  const { demo: control } = service.sources;
  if (control === undefined) return notFound("demo here");
  if (typeof speed !== "number" || !(speed >= 1 && speed <= fastest))
    return badRequest(`"speed" is a number from 1 to ${fastest}.`);
  control.setSpeed(speed);
  return { status: 204 };
};

function fieldsOf(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === "object" && body !== null && !Array.isArray(body) ? { ...body } : {};
}

const read = (path: RegExp, run: Run, ...query: readonly string[]): Route => ({
  ...{ path, method: "GET", role: "viewer", query, run },
});
const act = (path: RegExp, run: Run, keys?: readonly string[]): Route => ({
  ...{ path, method: "POST", role: "operator", run, ...(keys && { keys }) },
});

const routes: readonly Route[] = [
  { ...read(/^session$/, session), role: null },
  { ...act(/^login$/, login, ["username", "password"]), role: null },
  { ...act(/^logout$/, logout, []), role: null },
  read(/^overview$/, (_, __, { service }) => ok(service.overview())),
  read(/^controllers$/, (_, __, { service }) => ok(controllers(service))),
  read(/^controllers\/(.+)$/, controller),
  read(/^trends\/(.+)$/, trends, "sensor"),
  read(/^journal$/, journal, "controller", "outcome", "since", "limit", "before"),
  read(/^alarms$/, (_, __, { service }) => ok(service.alarms())),
  read(/^health$/, (_, __, { service }) => ok(service.sources.status.health())),
  read(/^commands\/(.+)$/, command),
  act(/^commands$/, send),
  act(/^requests\/(.+)$/, request),
  act(/^doctor$/, doctor, []),
  act(/^demo$/, demo, ["speed"]),
];
