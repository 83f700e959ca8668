import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { readPayload } from "../commands/payload.js";
import { outcomes } from "../greenhouse/command/outcomes.js";
import { commandOutcomes, type JournalRecord } from "../journal/records.js";
import { parseSince } from "../runtime/duration.js";
import type { Role, Session } from "../page/protocol.js";
import type { Sessions, Visitor } from "./access.js";
import { type Answer, badRequest, busy, failure, json, notFound } from "./answer.js";
import type { PageService } from "./service.js";

/** What requests are answered from. */
export interface RouteParts {
  readonly service: PageService;
  readonly checked: {
    isHealthy(): boolean;
    isReady(): boolean;
    /** Somebody showed a wrong token or password; from which address. */
    refusedLogin(shown: "http.token" | "password", address: string | null): void;
  };
  readonly metrics: { page(): Promise<string> };
}

/** A request that was let in. */
export interface Asked extends RouteParts {
  readonly request: IncomingMessage;
  readonly visitor: Visitor;
  /** What follows the route's path. */
  readonly id: string;
  /** Aborts when nobody waits for the answer any more. */
  readonly gone: AbortSignal;
  readonly sessions: Sessions;
  /** Whether programs have one. */
  readonly hasToken: boolean;
}

type Run<Given> = (given: Given, asked: Asked) => Answer | Promise<Answer>;

/** Who may ask, and what is answered to the query of a GET or the JSON of a POST. */
export interface Route {
  readonly role: Role | null;
  readonly answer: Run<unknown>;
}

/** By path, then by method; a path that ends with a slash takes an id behind it. */
export type Routes = Readonly<Record<string, Readonly<Partial<Record<string, Route>>>>>;

/** A route for whoever has the role; what is given has to fit the schema. */
export function route<Given>(role: Role | null, schema: z.ZodType<Given>, run: Run<Given>): Route {
  const answer: Run<unknown> = (given, asked) => {
    const read = schema.safeParse(given);
    if (read.success) return run(read.data, asked);
    const said = read.error.issues.map(({ path, message }) => [...path, message].join(": "));
    return badRequest(`${said.join(". ").slice(0, 500)}.`);
  };
  return { role, answer };
}

const nothing = z.strictObject({});
const anything = z.looseObject({});
const look = (run: Run<unknown>) => ({ GET: route("viewer", nothing, run) });
const named = (what: string, id: string) => `${what} "${id.slice(0, 100)}"`;

export const loginRequired = failure(
  401,
  "login_required",
  "Log in first, or send http.token as a bearer token.",
);

const text = (status: number, body: string, type = "text/plain; charset=utf-8"): Answer => ({
  ...{ status, body: `${body}\n`, headers: { "content-type": type } },
});

const health = (isFine: (checked: Asked["checked"]) => boolean, otherwise: string) => ({
  GET: route(null, anything, (_, { checked }) => (isFine(checked) ? text(200, "ok") : text(503, otherwise))),
});

/** A token is there for the programs that read these. */
const metrics: Run<unknown> = async (_, { visitor, hasToken, metrics: source }) =>
  visitor.via === null && hasToken
    ? loginRequired
    : text(200, (await source.page()).trimEnd(), "text/plain; version=0.0.4; charset=utf-8");

const session: Run<unknown> = (_, { visitor: { user, role, via } }) =>
  json({ user, role, via, login: role === null } satisfies Session);

const credentials = z.strictObject({ username: z.string(), password: z.string() });

const login: Run<z.output<typeof credentials>> = async ({ username, password }, asked) => {
  const { sessions, service, checked } = asked;
  const address = asked.request.socket.remoteAddress ?? "";
  const verdict = await sessions.login(username, password, address);
  switch (verdict) {
    case "wrong":
      // People type passwords into the wrong field, so the name is left out.
      checked.refusedLogin("password", address);
      return failure(401, "wrong_login", "There is no such user, or the password is another one.");
    case "blocked":
      return failure(429, "too_many_logins", "Too many wrong logins; try later.", { "retry-after": "20" });
    case "busy":
      return busy("Too many log in at once; try again.");
    default:
      service.sources.log.info({ user: username, address }, "logged in to the page");
      return { status: 204, headers: { "set-cookie": verdict.cookie } };
  }
};

const logout: Run<unknown> = (_, { sessions, visitor }) => ({
  ...{ status: 204, headers: { "set-cookie": sessions.logout(visitor) } },
});

const controller: Run<unknown> = (_, { id, service }) => {
  const view = service.controller(id);
  return view === null ? notFound(named("controller", id)) : json(view);
};

const sensor = z.strictObject({ sensor: z.string().optional() });
/** Of all sensors enough for a line as wide as a phone, of one every point. */
const [sparkPoints, allPoints] = [96, 1_440];

const trends: Run<z.output<typeof sensor>> = ({ sensor: one }, { id, service }) => {
  const found = service.controllerOf(id);
  if (found === undefined) return notFound(named("controller", id));
  const { info, sensors } = found;
  if (one === undefined) return json(service.trends.of(info.id, sensors.keys(), sparkPoints));
  if (!sensors.has(one)) return notFound(named("sensor", one));
  return json(service.trends.of(info.id, [one], allPoints));
};

const isSince = (text: string) => parseSince(text, 0) !== null;

const page = z.strictObject({
  controller: z.string().optional(),
  outcome: z.enum(outcomes).optional(),
  since: z.string().refine(isSince, 'It is an ISO time or a duration such as "2h"').optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  /** The `next` of the page before. */
  before: z.coerce.number().int().min(0).default(0),
});

const journal: Run<z.output<typeof page>> = async (
  { controller: id, outcome, since = "", limit, before },
  { request: { headers }, service },
) => {
  const { clock, past } = service.sources;
  const found = await past({
    ...{ types: commandOutcomes, outcome, limit: limit + 1, ...(before > 0 && { before }) },
    controllers: id === undefined ? undefined : new Set([id, service.controllerOf(id)?.info.code ?? id]),
    sinceMs: parseSince(since, clock.now()) ?? undefined,
  });
  const records = found.toReversed().slice(0, limit);
  const next = found.length > limit ? (records.at(-1)?.seq ?? null) : null;
  // As RFC 8288 says, since a table has no room for it.
  const link: NonNullable<Answer["headers"]> = next ? { link: `<?before=${next}>; rel="next"` } : {};
  if (!headers.accept?.includes("text/csv")) return json({ records, next }, 200, link);
  const disposition = 'attachment; filename="journal.csv"';
  const type = { "content-type": "text/csv; charset=utf-8", "content-disposition": disposition };
  return { status: 200, body: csvOf(records), headers: { ...type, ...link } };
};

const columns = [
  ...["at", "type", "controller", "actuator", "command", "value", "outcome", "reason", "message"],
  ...["by", "via", "read_back", "sent_at", "finished_at", "duration_ms", "id", "seq"],
];

/** As a table for a spreadsheet, after RFC 4180; a text that a spreadsheet would take for a formula is quoted. */
function csvOf(records: readonly JournalRecord[]): string {
  const rows = records.map((record): readonly unknown[] => {
    const cells = { ...record, ...("result" in record && record.result) };
    const known = new Map<string, unknown>(Object.entries(cells));
    return columns.map((column) => known.get(column));
  });
  return `\uFEFF${[columns, ...rows].map((row) => `${row.map(csvCell).join(",")}\r\n`).join("")}`;
}

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const cell = typeof value === "string" ? value.replace(/^(?=[=+\-@])/, "'") : JSON.stringify(value);
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

const followed: Run<unknown> = async (_, { id, service: { board, sources } }) => {
  const known = board.find(id);
  if (known !== null) {
    const { controller: at, actuator, phase } = known.document;
    return json({ id, controller: at, actuator, phase, result: known.result });
  }
  const [record] = await sources.past({ types: commandOutcomes, id, limit: 1 });
  if (record === undefined || !("result" in record)) return notFound(named("command", id));
  const { result } = record;
  return json({ id, controller: result.controller, actuator: result.actuator, phase: "done", result });
};

const command = z
  .looseObject({ controller: z.string(), actuator: z.string().optional(), parameter: z.string().optional() })
  .refine(
    ({ actuator, parameter }) => (actuator === undefined) !== (parameter === undefined),
    'Send either "actuator" or "parameter"',
  );

const bytesOf = (value: object) => new TextEncoder().encode(JSON.stringify(value));

/** The way of a command over MQTT, from its payload on; what could not be read there is the caller's mistake here. */
const submit: Run<z.output<typeof command>> = async (
  { controller: at, actuator, parameter, ...rest },
  { visitor: { user, via }, service },
) => {
  const payload = bytesOf(rest);
  const read = readPayload(payload);
  if ("reason" in read && read.reason === "bad_payload") return badRequest(read.message);
  const { id, isTaken } = service.sources.submit({
    controllerId: service.controllerOf(at)?.info.id ?? at,
    target: actuator === undefined ? "parameter" : "actuator",
    targetId: actuator ?? parameter ?? "",
    ...{ payload, retained: false, expiryMs: null, response: null, by: user, via },
  });
  return isTaken ? json({ id }, 202) : json(await service.board.refusalOf(id), 409);
};

/** Requests that say who asks. */
const acts: ReadonlySet<string> = new Set(["lock", "unlock", "release", "acknowledge"]);
const response = z.looseObject({ status: z.string() });

const request: Run<object> = async (given, { id: name, visitor: { user, via }, service: { sources } }) => {
  const sender = acts.has(name) && user !== null ? { by: user } : {};
  const said = await sources.ask(name, bytesOf({ ...sender, ...given }), via);
  if (said === null) return busy("Too many requests wait for an answer already; ask again later.");
  const answered = response.parse(JSON.parse(said));
  return json(answered, answered.status === "error" ? 400 : 200);
};

const doctor: Run<unknown> = (_, { gone, service: { sources } }) => {
  const findings = sources.doctor?.(gone);
  if (findings === undefined) return notFound("doctor here");
  return { status: 200, body: lines(findings), headers: { "content-type": "application/x-ndjson" } };
};

async function* lines(items: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const item of items) yield `${JSON.stringify(item)}\n`;
}

const pace = z.strictObject({ speed: z.number().min(1).max(10_000) });

const demo: Run<z.output<typeof pace>> = ({ speed }, { service: { sources } }) => {
  sources.demo?.setSpeed(speed);
  return sources.demo ? { status: 204 } : notFound("demo here");
};

/** What every bridge answers that has a port for it. */
export const plainRoutes: Routes = {
  "/healthz": health((checked) => checked.isHealthy(), "no link to the broker"),
  "/readyz": health((checked) => checked.isHealthy() && checked.isReady(), "broker or platform is away"),
  "/metrics": { GET: route("viewer", anything, metrics) },
};

/** What the page asks, and programs as well. */
export const apiRoutes: Routes = {
  "/api/session": { GET: route(null, nothing, session) },
  "/api/login": { POST: route(null, credentials, login) },
  "/api/logout": { POST: route(null, nothing, logout) },
  "/api/overview": look((_, { service }) => json(service.overview())),
  "/api/controllers": look((_, { service }) => json(service.controllers())),
  "/api/controllers/": look(controller),
  "/api/trends/": { GET: route("viewer", sensor, trends) },
  "/api/journal": { GET: route("viewer", page, journal) },
  "/api/alarms": look((_, { service }) => json(service.alarms())),
  "/api/health": look((_, { service }) => json(service.sources.status.health())),
  "/api/commands": { POST: route("operator", command, submit) },
  "/api/commands/": look(followed),
  "/api/requests/": { POST: route("operator", anything, request) },
  "/api/doctor": { POST: route("operator", nothing, doctor) },
  "/api/demo": { POST: route("operator", pace, demo) },
};
