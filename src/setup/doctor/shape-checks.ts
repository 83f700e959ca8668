import { statements } from "../../language/lists.js";
import { counted, msg, type Text } from "../../language/text.js";
import { missesDeviceCode, type Query } from "../../greenhouse/ports.js";
import { at, isFields } from "../../platform/decode/decoding.js";
import { pageProblem } from "../../platform/decode/lists.js";
import { alike } from "../../platform/decode/sensors.js";
import type { OperationShape } from "../../platform/settings.js";
import { askAgain, type Repetition } from "./missing-parameters.js";
import { failed, notTried, ok, type Verdict, warning } from "./finding.js";
import { mirroredActuators } from "../../settings/controllers.js";
import { platformVerdict, sampleControllers } from "./platform-checks.js";
import { ask, type Check, type RawAnswer, type DoctorContext } from "./context.js";
import {
  decodedAnswer,
  type DecodedOperation,
  devicesIn,
  readingsIn,
  shapeLine,
  suggestedShape,
} from "./shape-suggestion.js";

/** The questions to ask, or why there is none. */
type Queries = (context: DoctorContext) => readonly Query[] | Text;

/**
 * Each operation with the check it needs, words for its number of items, and whether it is vital: without it the bridge
 * shows nothing; others are optional.
 */
const table: readonly (readonly [
  operation: DecodedOperation,
  need: string,
  countOf: (count: number) => Text,
  isVital: boolean,
  queries: Queries,
])[] = [
  [
    "control/mqtt",
    "token",
    (count) => (count === 0 ? msg`no controllers` : counted(count, "controller", "controllers")),
    true,
    () => [{}],
  ],
  [
    "device",
    "token",
    (count) => (count === 0 ? msg`no devices` : counted(count, "device", "devices")),
    false,
    () => [{ dataType: "TEXT" }],
  ],
  [
    "station",
    "token",
    (count) => (count === 0 ? msg`no stations` : counted(count, "station", "stations")),
    false,
    () => [{}],
  ],
  [
    "mqtt-client-status",
    "realtime",
    (count) => (count === 0 ? msg`no statuses` : counted(count, "status", "statuses")),
    true,
    ofController,
  ],
  [
    "sensor-data",
    "realtime",
    (count) => (count === 0 ? msg`no readings` : counted(count, "reading", "readings")),
    true,
    ofController,
  ],
  [
    "device_status",
    "realtime",
    (count) =>
      count === 0 ? msg`no running statuses` : counted(count, "running status", "running statuses"),
    false,
    ofController,
  ],
  [
    "get-value",
    "realtime",
    (count) => (count === 0 ? msg`no values` : counted(count, "value", "values")),
    true,
    ofAddress,
  ],
  [
    "set-value/flush",
    "realtime",
    (count) => (count === 0 ? msg`no values` : counted(count, "value", "values")),
    false,
    ofType,
  ],
  [
    "video-data/list",
    "token",
    (count) => (count === 0 ? msg`no videos` : counted(count, "video", "videos")),
    false,
    ofVideos,
  ],
  [
    "weather-data/avg",
    "token",
    (count) => (count === 0 ? msg`no averages` : counted(count, "average", "averages")),
    false,
    ofAverages,
  ],
  [
    "weather-data/list",
    "token",
    (count) => (count === 0 ? msg`no past readings` : counted(count, "past reading", "past readings")),
    false,
    ofHistory,
  ],
];

/** Operations that may need a device, or a time span. */
const windowed: ReadonlySet<DecodedOperation> = new Set([
  "video-data/list",
  "weather-data/avg",
  "weather-data/list",
]);

/** Whether the bridge understands the answers of each read operation; if not, which line of `platform.shapes` helps. */
export const shapeChecks: readonly Check[] = table.map(([operation, need, countOf, isVital, queriesFor]) => ({
  id: `shapes.${operation}`,
  needs: [need],
  run: async (context, signal) => {
    const queries = queriesFor(context);
    if (!isList(queries)) return notTried(queries);
    return shapeVerdict({ operation, isVital, countOf }, queries, context, signal);
  },
}));

const isList = (queries: readonly Query[] | Text): queries is readonly Query[] => Array.isArray(queries);

interface ShapeCheck {
  readonly operation: DecodedOperation;
  readonly isVital: boolean;
  /** `no readings`, `1 reading`, `2 readings`. */
  readonly countOf: (count: number) => Text;
}

function ofController(context: DoctorContext): readonly Query[] | Text {
  const sample = sampleControllers(context);
  return sample.length === 0
    ? msg`no controller could be listed`
    : sample.map(({ code }) => ({ deviceCode: code }));
}

/** Controllers that may answer, with their sections of the configuration. */
const readable = (context: DoctorContext) =>
  sampleControllers(context, 50)
    .filter(({ online }) => online !== false)
    .map(({ code }) => {
      const section = context.configuration.controllers[code];
      const actuators = mirroredActuators(section).map(([, actuator]) => actuator);
      return { code, actuators, parameters: Object.values(section?.parameters ?? {}) };
    });

function ofAddress(context: DoctorContext): readonly Query[] | Text {
  const [query] = readable(context).flatMap(({ code, actuators, parameters }) =>
    [...actuators, ...parameters].map(({ address }) => ({ deviceCode: code, address })),
  );
  return query === undefined
    ? msg`the configuration names no address of a controller that is online; \`greenhouse2mqtt discover\` finds them`
    : [query];
}

const configuredWith = ({ configuration }: DoctorContext, key: "stream" | "averages") =>
  Object.entries(configuration.controllers).flatMap(([code, section]) => (section[key] ? [code] : []));

function ofVideos(context: DoctorContext): readonly Query[] | Text {
  return configuredWith(context, "stream").length === 0 ? msg`no controller has stream: true` : [{}];
}

function ofAverages(context: DoctorContext): readonly Query[] | Text {
  const [code] = configuredWith(context, "averages");
  return code === undefined ? msg`no controller has averages: true` : [{ deviceCode: code }];
}

function ofHistory(context: DoctorContext): readonly Query[] | Text {
  const { http } = context.configuration;
  if (http === false || !http.past_readings) return msg`http.past_readings is off`;
  const { devices } = context.evidence;
  const station = devices.find(({ type }) => type === "W001") ?? sampleControllers(context)[0];
  return station === undefined ? msg`no controller could be listed` : [{ deviceCode: station.code }];
}

/** Type 2, the left skylight, is the first in the interface's table. */
function ofType(context: DoctorContext): readonly Query[] | Text {
  const online = readable(context);
  const known = online.flatMap(({ code, actuators }) =>
    actuators.flatMap(({ type_id: id }) => (id === undefined ? [] : [{ code, id: String(id) }])),
  );
  const first = known[0] ?? online.map(({ code }) => ({ code, id: "2" }))[0];
  return first === undefined
    ? msg`no controller is online`
    : [{ deviceTypeId: first.id, deviceCode: first.code }];
}

async function shapeVerdict(
  check: ShapeCheck,
  queries: readonly Query[],
  context: DoctorContext,
  signal: AbortSignal,
): Promise<Verdict> {
  const { operation, isVital } = check;
  const answers: RawAnswer[] = [];
  let line: OperationShape = {};
  let refused: Verdict | null = null;
  const open = [...queries];
  const isPast = windowed.has(operation);
  for (const asked of open) {
    try {
      answers.push(await ask(context, operation, asked, signal));
    } catch (error) {
      if (operation === "video-data/list" && !isOfOneVideo(operation, asked) && missesDeviceCode(error)) {
        open.push(...configuredWith(context, "stream").map((code) => ({ deviceCode: code })));
        continue;
      }
      const verdict = platformVerdict(error);
      if (verdict === null) throw error;
      const again = await askAgain({ operation, asked }, error, context, signal);
      if (again.answered !== null) {
        answers.push(again.answered.answer);
        line = again.answered.line;
        continue;
      }
      if (isOfOneVideo(operation, asked)) {
        refused ??= { ...verdict, status: "warning" };
        continue;
      }
      return { ...verdict, ...(!isVital && { status: "warning" }), ...missing(operation, again, isPast) };
    }
  }
  if (operation === "device") context.evidence.devices = answers.flatMap((answer) => devicesIn(answer, {}));
  if (refused !== null && answers.length === 0) return refused;
  const verdict = answersVerdict(check, answers, line, context);
  return refused !== null && verdict.status === "ok" ? refused : verdict;
}

const isOfOneVideo = (operation: DecodedOperation, asked: Query): boolean =>
  operation === "video-data/list" && asked["deviceCode"] !== undefined;

const mostMissing = 4;

/**
 * What to add to a refused read: the parameters that it names, or those it may need under names that only the platform
 * knows.
 */
function missing(operation: DecodedOperation, { open }: Repetition, isPast: boolean): Partial<Verdict> {
  if (open.length > 0)
    return {
      remedy: msg`it misses ${open.slice(0, mostMissing).join(", ")}: add that to platform.shapes.${operation}.params, with a value from the platform's papers`,
    };
  if (!isPast) return {};
  return {
    remedy: msg`if it misses parameters, add platform.shapes.${operation}.params: { deviceCode: "{deviceCode}", startTime: "{since}", endTime: "{until}" }, with the platform's own names`,
  };
}

function answersVerdict(
  { operation, isVital, countOf }: ShapeCheck,
  answers: readonly RawAnswer[],
  renamed: OperationShape,
  { configuration }: DoctorContext,
): Verdict {
  const { shapes, time_zone: timeZone } = configuration.platform;
  const shape = shapes[operation] ?? {};
  const decoded = answers.map((answer) => decodedAnswer(answer, operation, shape, timeZone));
  const found = decoded.reduce((sum, one) => sum + one.found.length, 0);
  // Sensors that are alike have a line of their own.
  const told = decoded.flatMap((one) => one.problems).filter((one) => !String(one).startsWith(String(alike)));
  const problems = [...new Map(told.map((one) => [String(one), one])).values()];
  const isAsAsked = Object.keys(renamed).length === 0;
  const unit = isAsAsked ? unreadUnit(operation, answers, shape, timeZone) : null;
  if (problems.length === 0 && unit !== null)
    return warning(msg`understood: ${countOf(found)}, none with a unit`, addLine(operation, { unit }));
  if (problems.length === 0 && isAsAsked) return ok(msg`understood: ${countOf(found)}`);
  if (found > 0 && isAsAsked && problems.every((one) => String(one).startsWith(String(pageProblem))))
    return warning(
      msg`${countOf(found)} understood, but they are ${pageProblem}`,
      pageRemedy(operation, answers),
    );
  const worst = answers[decoded.findIndex((one) => one.problems.length > 0)] ?? answers[0];
  const guess = worst === undefined ? null : suggestedShape(worst, operation, timeZone);
  const line = { ...(guess ?? {}), ...besideGiven(shape, renamed) };
  const remedy =
    Object.keys(line).length > 0
      ? addLine(operation, line)
      : msg`look at \`greenhouse2mqtt get ${operation}\` and say in platform.shapes.${operation} where items, name, value and time stand`;
  const what =
    problems.length > 0
      ? statements(problems.slice(0, 3))
      : renamed.params === undefined
        ? msg`the device code goes under another name`
        : msg`it is answered with further parameters only`;
  if (found > 0 && isAsAsked) return warning(msg`${countOf(found)} understood, but also: ${what}`, remedy);
  return (isVital ? failed : warning)(msg`not understood: ${what}`, remedy);
}

/** Adds what the configuration already has there. */
const besideGiven = (
  { query, params }: OperationShape,
  { query: names, params: added }: OperationShape,
): OperationShape => ({
  ...(names !== undefined && { query: { ...query, ...names } }),
  ...(added !== undefined && { params: { ...params, ...added } }),
});

const addLine = (operation: DecodedOperation, line: OperationShape): Text =>
  msg`add ${shapeLine(operation, line)} (found by what the fields hold: compare it with the answer of \`greenhouse2mqtt get ${operation}\`)`;

/** The field with the units of readings that are understood without one; null if there is none, or they have units. */
function unreadUnit(
  operation: DecodedOperation,
  answers: readonly RawAnswer[],
  shape: OperationShape,
  timeZone: string,
): string | null {
  if (operation !== "sensor-data") return null;
  const unitsWith = (unit: OperationShape["unit"]) =>
    answers.flatMap((answer) =>
      readingsIn(answer, { "sensor-data": { ...shape, ...(unit !== undefined && { unit }) } }, timeZone),
    );
  const found = unitsWith(undefined);
  if (found.length === 0 || found.some(({ unit }) => unit !== null)) return null;
  const guesses = answers.map((answer) => suggestedShape(answer, operation, timeZone)?.unit);
  const guess = guesses.find((one) => one !== undefined);
  if (guess === undefined) return null;
  const read = unitsWith(guess);
  return read.length === found.length && read.some(({ unit }) => unit !== null) ? guess : null;
}

const pageSize = /^(?:page_?size|size|limit|per_?page)$/i;

/** An answer that gives its page size usually shows the parameter's name too. */
function pageRemedy(operation: DecodedOperation, answers: readonly RawAnswer[]): Text {
  const names = answers.flatMap(({ body }) => {
    const data = at(body, "data");
    return [body, data].flatMap((one) => (isFields(one) ? Object.keys(one) : []));
  });
  const name = names.find((one) => pageSize.test(one)) ?? "pageSize";
  return msg`add ${shapeLine(operation, { params: { [name]: "500" } })}, with the platform's own name for the size of a page`;
}
