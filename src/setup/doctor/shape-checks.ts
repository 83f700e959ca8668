import { PlatformError, type Query } from "../../greenhouse/ports.js";
import { pageProblem } from "../../platform/decode/lists.js";
import type { OperationShape } from "../../platform/settings.js";
import { failed, notTried, ok, type Verdict, warning } from "./finding.js";
import { platformVerdict, sampleControllers } from "./platform-checks.js";
import { ask, type Check, type RawAnswer, type DoctorContext } from "./context.js";
import {
  decodedAnswer,
  type DecodedOperation,
  devicesIn,
  shapeLine,
  suggestedShape,
} from "./shape-suggestion.js";

/** The questions to ask, or why there is none. */
type Queries = (context: DoctorContext) => readonly Query[] | string;

/**
 * Each operation with the check it needs, what its items are called (one and many), and whether it is vital: without it
 * the bridge shows nothing; the others are luxuries.
 */
const table: readonly (readonly [
  operation: DecodedOperation,
  need: string,
  one: string,
  many: string,
  isVital: boolean,
  queries: Queries,
])[] = [
  ["control/mqtt", "token", "controller", "controllers", true, () => [{}]],
  ["device", "token", "device", "devices", false, () => [{ dataType: "TEXT" }]],
  ["station", "token", "station", "stations", false, () => [{}]],
  ["mqtt-client-status", "realtime", "status", "statuses", true, ofController],
  ["sensor-data", "realtime", "reading", "readings", true, ofController],
  ["device_status", "realtime", "running status", "running statuses", false, ofController],
  ["get-value", "realtime", "value", "values", true, ofAddress],
  ["set-value/flush", "realtime", "value", "values", false, ofType],
  ["video-data/list", "token", "video", "videos", false, ofVideos],
  ["weather-data/avg", "token", "average", "averages", false, ofAverages],
  ["weather-data/list", "token", "past reading", "past readings", false, ofHistory],
];

/** Which the platform may want asked for a device, or for a window of time. */
const windowed: ReadonlySet<DecodedOperation> = new Set([
  "video-data/list",
  "weather-data/avg",
  "weather-data/list",
]);

/** Whether the answers of each read operation are understood, and which line of `platform.shapes` helps where not. */
export const shapeChecks: readonly Check[] = table.map(
  ([operation, need, one, many, isVital, queriesFor]) => ({
    id: `shapes.${operation}`,
    needs: [need],
    run: async (context, signal) => {
      const queries = queriesFor(context);
      if (typeof queries === "string") return notTried(queries);
      const countOf = (count: number) => `${count === 0 ? "no" : count} ${count === 1 ? one : many}`;
      return shapeVerdict({ operation, isVital, countOf }, queries, context, signal);
    },
  }),
);

interface ShapeCheck {
  readonly operation: DecodedOperation;
  readonly isVital: boolean;
  /** `no readings`, `1 reading`, `2 readings`. */
  readonly countOf: (count: number) => string;
}

function ofController(context: DoctorContext): readonly Query[] | string {
  const sample = sampleControllers(context);
  return sample.length === 0
    ? "no controller could be listed"
    : sample.map(({ code }) => ({ deviceCode: code }));
}

/** Controllers that may answer, with what the configuration says of each. */
const readable = (context: DoctorContext) =>
  sampleControllers(context, 50)
    .filter(({ online }) => online !== false)
    .map(({ code }) => {
      const { actuators = {}, parameters = {} } = context.configuration.controllers[code] ?? {};
      return { code, actuators: Object.values(actuators), parameters: Object.values(parameters) };
    });

function ofAddress(context: DoctorContext): readonly Query[] | string {
  const [query] = readable(context).flatMap(({ code, actuators, parameters }) =>
    [...actuators, ...parameters].map(({ address }) => ({ deviceCode: code, address })),
  );
  return query === undefined
    ? "the configuration names no address of a controller that is online; `greenhouse2mqtt discover` finds them"
    : [query];
}

const configuredWith = ({ configuration }: DoctorContext, key: "stream" | "averages") =>
  Object.entries(configuration.controllers).flatMap(([code, section]) => (section[key] ? [code] : []));

function ofVideos(context: DoctorContext): readonly Query[] | string {
  return configuredWith(context, "stream").length === 0 ? "no controller has stream: true" : [{}];
}

function ofAverages(context: DoctorContext): readonly Query[] | string {
  const [code] = configuredWith(context, "averages");
  return code === undefined ? "no controller has averages: true" : [{ deviceCode: code }];
}

function ofHistory(context: DoctorContext): readonly Query[] | string {
  const { http } = context.configuration;
  if (http === false || !http.past_readings) return "http.past_readings is off";
  const { devices } = context.evidence;
  const station = devices.find(({ type }) => type === "W001") ?? sampleControllers(context)[0];
  return station === undefined ? "no controller could be listed" : [{ deviceCode: station.code }];
}

/** Type 2, the left skylight, is the first of the interface's table. */
function ofType(context: DoctorContext): readonly Query[] | string {
  const online = readable(context);
  const known = online.flatMap(({ code, actuators }) =>
    actuators.flatMap(({ type_id: id }) => (id === undefined ? [] : [{ code, id: String(id) }])),
  );
  const first = known[0] ?? online.map(({ code }) => ({ code, id: "2" }))[0];
  return first === undefined
    ? "no controller is online"
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
  let query: OperationShape["query"];
  for (const asked of queries) {
    try {
      answers.push(await ask(context, operation, asked, signal));
    } catch (error) {
      const renamed = await withOtherName(operation, asked, error, context, signal);
      const verdict = platformVerdict(error);
      if (verdict === null) throw error;
      if (renamed === null && windowed.has(operation)) return windowVerdict(operation, verdict);
      if (renamed === null) return isVital ? verdict : { ...verdict, status: "warning" };
      answers.push(renamed.answer);
      query = { deviceCode: renamed.name };
    }
  }
  if (operation === "device") context.evidence.devices = answers.flatMap((answer) => devicesIn(answer, {}));
  return answersVerdict(check, answers, query, context);
}

/** It may miss a device or a window, under names that only the platform knows. */
const windowVerdict = (operation: DecodedOperation, verdict: Verdict): Verdict => ({
  ...verdict,
  status: "warning",
  remedy: `if it misses parameters, add platform.shapes.${operation}.params: { deviceCode: "{deviceCode}", startTime: "{since}", endTime: "{until}" }, with the platform's own names`,
});

function answersVerdict(
  { operation, isVital, countOf }: ShapeCheck,
  answers: readonly RawAnswer[],
  query: OperationShape["query"],
  { configuration }: DoctorContext,
): Verdict {
  const { shapes, time_zone: timeZone } = configuration.platform;
  const shape = shapes[operation] ?? {};
  const decoded = answers.map((answer) => decodedAnswer(answer, operation, shape, timeZone));
  const found = decoded.reduce((sum, one) => sum + one.found.length, 0);
  const problems = [...new Set(decoded.flatMap((one) => one.problems))];
  if (problems.length === 0 && query === undefined) return ok(`understood: ${countOf(found)}`);
  if (found > 0 && query === undefined && problems.every((one) => one.startsWith(pageProblem)))
    return warning(
      `${countOf(found)} understood, but they are ${pageProblem}`,
      `add ${shapeLine(operation, { params: { pageSize: "500" } })}, with the platform's own name for the size of a page`,
    );
  const worst = answers[decoded.findIndex((one) => one.problems.length > 0)] ?? answers[0];
  const guess = worst === undefined ? null : suggestedShape(worst, operation, timeZone);
  const line = { ...(guess ?? {}), ...(query === undefined ? {} : { query }) };
  const remedy =
    Object.keys(line).length > 0
      ? `add ${shapeLine(operation, line)} (found by what the fields hold: compare it with the answer of \`greenhouse2mqtt get ${operation}\`)`
      : `look at \`greenhouse2mqtt get ${operation}\` and say in platform.shapes.${operation} where items, name, value and time stand`;
  const what =
    problems.length > 0 ? problems.slice(0, 3).join("; ") : "the device code goes under another name";
  if (found > 0 && query === undefined)
    return warning(`${countOf(found)} understood, but also: ${what}`, remedy);
  return (isVital ? failed : warning)(`not understood: ${what}`, remedy);
}

const missingName =
  /(?:缺少|缺失|missing|required|expects?)[^A-Za-z_]{0,20}(?:parameter|param|field|参数)?[^A-Za-z_]{0,10}([A-Za-z_]\w{1,40})/i;

/** The platform says which query parameter it misses: asks again with the code under that name. */
async function withOtherName(
  operation: string,
  query: Query,
  error: unknown,
  context: DoctorContext,
  signal: AbortSignal,
): Promise<{ readonly name: string; readonly answer: RawAnswer } | null> {
  if (!(error instanceof PlatformError) || query["deviceCode"] === undefined) return null;
  const name = missingName.exec(error.facts.platformMessage ?? "")?.[1];
  if (name === undefined || name === "deviceCode" || Object.hasOwn(query, name)) return null;
  try {
    const answer = await ask(context, operation, { ...query, [name]: query["deviceCode"] }, signal);
    return { name, answer };
  } catch {
    return null;
  }
}
