import { languages } from "../language/known.js";
import { z } from "zod";
import { readPayload } from "../commands/payload.js";
import { expecting, expectingOneOf } from "../settings/values.js";
import { outcomes } from "../greenhouse/command/outcomes.js";
import type { GroupOrScene } from "../greenhouse/groups.js";
import { commandOutcomes, type RecordType } from "../journal/records.js";
import { JournalUnreadable } from "../journal/segments.js";
import { timelineCsv } from "../journal/timeline-table.js";
import { type TimelineKind, timelineKinds, withControllerId } from "../journal/timeline.js";
import { csvText } from "../runtime/csv.js";
import { parseSince } from "../runtime/duration.js";
import { pageOf } from "../runtime/metrics.js";
import type { Trends } from "../page/protocol.js";
import { type Answer, badRequest, busy, failure, json, jsonLines, notFound } from "./answer.js";
import {
  type AskedOfBridge,
  fields,
  metricsRoute,
  nothing,
  type Route,
  type Routes,
  routeTo,
  watchedRoutes,
  text,
} from "./route.js";
import { topicIdOfEither } from "../settings/controllers.js";
import { settingsRoutes } from "./settings.js";
import { groupCommandView } from "./groups.js";

const route = <Given>(
  method: Route["method"],
  role: Route["role"],
  schema: z.ZodType<Given>,
  run: (given: Given, asked: AskedOfBridge) => Answer | Promise<Answer>,
): Route<AskedOfBridge> => routeTo(method, role, schema, run);

const bytesOf = (value: object) => new TextEncoder().encode(JSON.stringify(value));
const look = (run: Route<AskedOfBridge>["answer"]) =>
  route("GET", "viewer", nothing, (_, asked) => run(asked));

/** A GET for a document that is also a live view. Only those of controllers may be missing. */
const shows = (view: string) =>
  look(({ id, service }) => {
    const shown = service.view(`${view}${id}`);
    return shown === null ? notFound("controller", id) : json(shown);
  });

const whole = (least: number, most: number, error: z.core.$ZodErrorMap) =>
  z.coerce.number({ error }).int({ error }).min(least, { error }).max(most, { error });
const since = { error: expecting("an ISO time or a duration, such as since=2h") };
const limit = expecting("a whole number from 1 to 1000, such as limit=100");
const before = expecting("a whole number, the `next` of the page before");
const untilTime = { error: expecting("an ISO time or a duration, such as until=1h") };
const kindNames = new Set<string>(timelineKinds);
const filter = fields({
  controller: text.optional(),
  kind: text
    .refine((given) => given.split(",").every((one) => kindNames.has(one)), {
      error: expectingOneOf(timelineKinds),
    })
    .optional(),
  actuator: text.optional(),
  by: text.optional(),
  outcome: z.enum(outcomes, { error: expectingOneOf(outcomes) }).optional(),
  since: text.refine((given) => parseSince(given, 0) !== null, since).optional(),
  until: text.refine((given) => parseSince(given, 0) !== null, untilTime).optional(),
  limit: whole(1, 1_000, limit).default(100),
  // An empty value asks for the first page.
  before: z.preprocess((given) => given || undefined, whole(0, Number.MAX_SAFE_INTEGER, before).optional()),
});

const isKind = (word: string): word is TimelineKind => kindNames.has(word);

const unread = (error: unknown): Answer => {
  if (!(error instanceof JournalUnreadable)) throw error;
  return failure(503, "journal_unreadable", error.message);
};

const journal = route("GET", "viewer", filter, (given, asked) => journalPage(given, asked).catch(unread));

async function journalPage(
  given: z.infer<typeof filter>,
  { request: { headers }, service }: AskedOfBridge,
): Promise<Answer> {
  const { clock, timeline } = service.sources;
  const { controller: id, actuator, by, outcome, limit, kind } = given;
  const { entries, next } = await timeline({
    ...{ actuator, by, outcome },
    limit,
    before: given.before,
    kinds: kind === undefined ? undefined : new Set(kind.split(",").filter(isKind)),
    controllers: id === undefined ? undefined : new Set([id, service.controllerOf(id)?.info.code ?? id]),
    sinceMs: parseSince(given.since ?? "", clock.now()) ?? undefined,
    untilMs: parseSince(given.until ?? "", clock.now()) ?? undefined,
  });
  const records = entries.toReversed();
  const idOf = (one: string) => service.controllerOf(one)?.info.id ?? topicIdOfEither(one);
  // The link to the next page goes into a header (RFC 8288), since CSV has no room for it.
  const link = next ? { link: `<?before=${next}>; rel="next"` } : undefined;
  return prefersCsv(headers.accept ?? "")
    ? csv(timelineCsv(records.map((one) => withControllerId(one, idOf))), "journal.csv", link)
    : json({ records, next }, 200, link);
}

/** Whether the `Accept` header names CSV and weighs it at least as high as JSON. */
function prefersCsv(accept: string): boolean {
  const weights = new Map(
    accept.split(",").map((range) => {
      const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
      const weight = parameters.find((part) => part.startsWith("q="))?.slice(2);
      return [type, Number(weight ?? 1)] as const;
    }),
  );
  return (
    (weights.get("text/csv") ?? 0) > 0 &&
    (weights.get("text/csv") ?? 0) >= (weights.get("application/json") ?? 0)
  );
}

const timeText = { error: expecting("an ISO time or a duration, such as since=7d") };
const span = fields({
  since: text.refine((given) => parseSince(given, 0) !== null, timeText).optional(),
  until: text.refine((given) => parseSince(given, 0) !== null, timeText).optional(),
});

/** Points of all sensors of a controller, few of each, or of one sensor; as CSV if `Accept` says so. */
const trends = route("GET", "viewer", span, async (given, asked) => {
  const { id, service, request } = asked;
  const { clock, demo } = service.sources;
  const whole = service.controllerOf(id);
  const [, controllerId = "", sensorId = ""] = /^(.*)\/([^/]*)$/s.exec(id) ?? [];
  const found = whole ?? service.controllerOf(controllerId);
  if (found === undefined) return notFound("controller", id);
  if (whole === undefined && !found.sensors.has(sensorId)) return notFound("sensor", sensorId);
  const now = demo?.timeAt(clock.now()) ?? clock.now();
  const until = parseSince(given.until ?? "", now) ?? now;
  const since = parseSince(given.since ?? "24h", given.since === undefined ? until : now) ?? now;
  if (since > until) return badRequest("since is after until.");
  const range = given.since === undefined && given.until === undefined ? null : { since, until };
  const ids = whole === undefined ? [sensorId] : [...found.sensors.keys()];
  const shown = await service.trendsOf(found, ids, range, whole === undefined ? allPoints : sparkPoints);
  return prefersCsv(request.headers.accept ?? "") ? trendTable(shown, controllerId || id) : json(shown);
});

/** Most controllers in one request: the rows of one page. */
const mostSparklines = 60;
const some = {
  error: expecting(`ids of controllers, ${mostSparklines} at most, such as controllers=gh-0001,gh-0002`),
};
const listed = fields({
  controllers: text
    .transform((given) => given.split(","))
    .refine(({ length }) => length <= mostSparklines, some),
});

/** A day of the key readings of several controllers; unknown ones are left out. */
const sparklines = route("GET", "viewer", listed, async ({ controllers }, { service }) =>
  json(await service.sparklines(controllers.flatMap((id) => service.controllerOf(id) ?? []))),
);

/** A CSV table with a line for each time and a column for each sensor. */
function trendTable({ since, step_s: step, sensors }: Trends, name: string): Answer {
  const ids = Object.keys(sensors);
  const count = Math.max(0, ...Object.values(sensors).map(({ length }) => length));
  const rows = Array.from({ length: count }, (_, at) => [
    new Date(Date.parse(since) + at * step * 1000).toISOString(),
    ...ids.map((id) => sensors[id]?.[at]),
  ]);
  return csv(csvText([["at", ...ids], ...rows]), `${name.replace(/[^\w.-]/g, "_")}.csv`);
}

function csv(body: string, filename: string, headers?: Answer["headers"]): Answer {
  const disposition = `attachment; filename="${filename}"`;
  return {
    status: 200,
    body,
    headers: { "content-type": "text/csv; charset=utf-8", "content-disposition": disposition, ...headers },
  };
}

const target = 'Send "controller" with "actuator" or "parameter", or "group", or "scene"';
const command = z
  .looseObject({
    controller: text.optional(),
    actuator: text.optional(),
    parameter: text.optional(),
    address: text.optional(),
    group: text.optional(),
    scene: text.optional(),
  })
  .refine(({ controller, actuator, parameter, address, group, scene }) => {
    const named = [actuator, parameter, address, group, scene].filter((one) => one !== undefined);
    return named.length === 1 && (controller !== undefined) === (group === undefined && scene === undefined);
  }, target);

/**
 * Handles a command like one over MQTT, from its payload on. A payload that cannot be read is the caller's mistake
 * here.
 */
const submit = route("POST", "operator", command, async (given, asked) => {
  const { user, via, isOwner = false } = asked.visitor;
  const { service } = asked;
  const { controller = "", actuator, parameter, address, group, scene, ...rest } = given;
  if (address !== undefined && !isOwner) return badRequest(`${target}.`);
  if (group !== undefined) return submitToGroup("group", group, rest, asked);
  if (scene !== undefined) return submitToGroup("scene", scene, { command: "activate", ...rest }, asked);
  const payload = bytesOf(rest);
  const read = readPayload(payload);
  if ("reason" in read && read.reason === "bad_payload") return badRequest(String(read.message));
  const { id, isTaken } = service.sources.submit({
    controllerId: service.controllerOf(controller)?.info.id ?? controller,
    target: address !== undefined ? "address" : actuator === undefined ? "parameter" : "actuator",
    targetId: actuator ?? parameter ?? address ?? "",
    payload,
    retained: false,
    expiryMs: null,
    ageMs: service.ageOf(asked.readAt),
    response: null,
    by: user,
    via,
  });
  return isTaken ? json({ id }, 202) : json(await service.board.refusalOf(id), 409);
});

/**
 * Commands a group or scene. Each member gets its own command; only what no member could be asked is refused as a
 * whole.
 */
function submitToGroup(kind: GroupOrScene, name: string, payload: object, asked: AskedOfBridge): Answer {
  const { user: by, via } = asked.visitor;
  const request = { kind, id: name, payload: bytesOf(payload), by, via };
  const { id, refused } = asked.service.sources.groups.submit({
    ...request,
    retained: false,
    expiryMs: null,
    ageMs: asked.service.ageOf(asked.readAt),
    response: null,
  });
  if (refused === null) return json({ id }, 202);
  return refused.reason === "bad_payload" ? badRequest(String(refused.message ?? "")) : json(refused, 409);
}

/** The language of the person who asks. */
const ofReader = fields({ language: z.enum(languages, { error: expectingOneOf(languages) }).optional() });

/** Sends lines of JSON as they come, for as long as the client waits for them. */
const examine = (name: "doctor" | "discover") =>
  route("POST", "operator", ofReader, ({ language }, { gone, service }) => {
    const found = service.examine(name, gone, language ?? "en");
    if (found === undefined) return notFound(`${name} here`);
    if (found !== null) return jsonLines(found);
    const message = `${name} runs already, and only one at a time does; try again when it has ended.`;
    return failure(429, `${name}_runs`, message, { "retry-after": "10" });
  });

const metrics = ({ service }: AskedOfBridge) => pageOf(service.sources.metrics.registry());

/** The routes of every bridge that has a port. */
export const plainRoutes = watchedRoutes<AskedOfBridge>({
  state: () => "ok",
  healthProblem: ({ service: { sources } }) => (sources.status.isHealthy() ? null : "no link to the broker"),
  readyProblem: ({ service: { sources } }) =>
    sources.status.isHealthy() && sources.status.isReady() ? null : "broker or platform is away",
  metrics,
});

/** For all sensors, enough points for a line as wide as a phone; for one sensor, one a minute of a day. */
const sparkPoints = 96;
const allPoints = 1_440;
/** Requests that pass on the sender's name. */
const acts: ReadonlySet<string> = new Set(["lock", "unlock", "release", "acknowledge", "read_only"]);
const response = z.looseObject({ status: z.string() });
const often = { error: expecting("a number from 1 to 10000") };
const pace = fields({ speed: z.number(often).min(1, often).max(10_000, often) });

/** Records that end a command, to one actuator or to several. */
const ended: ReadonlySet<RecordType> = new Set([...commandOutcomes, "group_ended"]);

/** The API, for the page and for programs. */
export const apiRoutes: Routes<AskedOfBridge> = {
  "/api/overview": shows("overview"),
  "/api/controllers": look(({ service }) => json(service.controllers())),
  "/api/controllers/": shows("controller/"),
  "/api/trends": sparklines,
  "/api/trends/": trends,
  "/api/journal": journal,
  "/api/alarms": shows("alarms"),
  // The URL is a credential of its own, so viewers do not get it.
  "/api/stream/": route("GET", "operator", nothing, (_, { id, service }) => {
    const stream = service.controllerOf(id)?.info.stream ?? null;
    return stream === null ? notFound("video", id) : json({ url: stream });
  }),
  "/api/addresses": look(({ service }) => json(service.seenAddresses())),
  "/api/groups": shows("groups"),
  // Browsers send a session's cookie only below `api/`.
  "/api/metrics": metricsRoute(metrics),
  "/api/health": look(({ service }) => json(service.sources.status.health())),
  "/api/commands": submit,
  "/api/commands/": look(async ({ id, visitor, service: { board, sources } }) => {
    const ofGroup = sources.groups.find(id);
    if (ofGroup !== null) return json(groupCommandView(ofGroup));
    const known = board.find(id, visitor.via);
    if (known !== null) {
      const { command, phase, result } = known;
      const { controller, actuator } = command;
      return json({ id, controller, actuator, phase, result });
    }
    const [record] = await sources.past({ types: ended, id, limit: 1 });
    if (record?.type === "group_ended") return json(groupCommandView(record.group.told));
    if (record === undefined || !("result" in record)) return notFound("command", id);
    const { controller, actuator } = record.result;
    return json({ id, controller, actuator, phase: "done", result: record.result });
  }),
  "/api/requests/": route("POST", "operator", z.looseObject({}), async (given, asked) => {
    const { id: name, visitor, service } = asked;
    const sender = acts.has(name) && visitor.user !== null ? { by: visitor.user } : {};
    const ageMs = service.ageOf(asked.readAt);
    const answered = await service.sources.ask(name, bytesOf({ ...sender, ...given }), visitor.via, ageMs);
    if (answered === null) return busy("Too many requests wait for an answer already; ask again later.");
    const read = response.parse(JSON.parse(answered));
    return json(read, read.status === "error" ? 400 : 200);
  }),
  ...settingsRoutes,
  "/api/doctor": examine("doctor"),
  "/api/discover": examine("discover"),
  "/api/demo": route("POST", "operator", pace, ({ speed }, { service }) => {
    service.sources.demo?.setSpeed(speed);
    return service.sources.demo ? { status: 204 } : notFound("demo here");
  }),
};
