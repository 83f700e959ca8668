import { PlatformError, type Query } from "../../greenhouse/ports.js";
import { pageProblem } from "../../platform/decode/lists.js";
import type { OperationShape } from "../../platform/settings.js";
import { failed, notTried, ok, type Verdict, warning } from "./finding.js";
import { platformVerdict, sampleControllers } from "./platform-checks.js";
import type { Check, RawAnswer, Scene } from "./scene.js";
import {
  decodedAnswer,
  type DecodedOperation,
  devicesIn,
  shapeLine,
  suggestedShape,
} from "./shape-suggestion.js";

interface ShapeCheck {
  readonly operation: DecodedOperation;
  readonly needs: readonly string[];
  /** What the items are, one and many, for the sentence. */
  readonly items: readonly [one: string, many: string];
  /** Without it the bridge shows nothing; the others are luxuries. */
  readonly isVital: boolean;
  /** The questions to ask, or why there is none. */
  readonly queries: (scene: Scene) => readonly Query[] | string;
}

const table: readonly ShapeCheck[] = [
  {
    operation: "control/mqtt",
    needs: ["token"],
    items: ["controller", "controllers"],
    isVital: true,
    queries: () => [{}],
  },
  {
    operation: "device",
    needs: ["token"],
    items: ["device", "devices"],
    isVital: false,
    queries: () => [{ dataType: "TEXT" }],
  },
  {
    operation: "station",
    needs: ["token"],
    items: ["station", "stations"],
    isVital: false,
    queries: () => [{}],
  },
  {
    operation: "mqtt-client-status",
    needs: ["realtime"],
    items: ["status", "statuses"],
    isVital: true,
    queries: ofController,
  },
  {
    operation: "sensor-data",
    needs: ["realtime"],
    items: ["reading", "readings"],
    isVital: true,
    queries: ofController,
  },
  {
    operation: "device_status",
    needs: ["realtime"],
    items: ["running status", "running statuses"],
    isVital: false,
    queries: ofController,
  },
  {
    operation: "get-value",
    needs: ["realtime"],
    items: ["value", "values"],
    isVital: true,
    queries: ofAddress,
  },
  {
    operation: "set-value/flush",
    needs: ["realtime"],
    items: ["value", "values"],
    isVital: false,
    queries: ofType,
  },
];

/** Whether the answers of each read operation are understood, and which line of `platform.shapes` helps where not. */
export const shapeChecks: readonly Check[] = table.map((check) => ({
  id: `shapes.${check.operation}`,
  needs: check.needs,
  run: (scene, signal) => shapeVerdict(check, scene, signal),
}));

function ofController(scene: Scene): readonly Query[] | string {
  const sample = sampleControllers(scene);
  return sample.length === 0
    ? "no controller could be listed"
    : sample.map(({ code }) => ({ deviceCode: code }));
}

const readable = (scene: Scene) => sampleControllers(scene, 50).filter(({ online }) => online !== false);

function ofAddress(scene: Scene): readonly Query[] | string {
  for (const { code } of readable(scene)) {
    const section = scene.configuration.controllers[code];
    const [first] = [...Object.values(section?.actuators ?? {}), ...Object.values(section?.parameters ?? {})];
    if (first !== undefined) return [{ deviceCode: code, address: first.address }];
  }
  return "the configuration names no address of a controller that is online; `greenhouse2mqtt discover` finds them";
}

/** Type 2, the left skylight, is the first of the interface's table. */
function ofType(scene: Scene): readonly Query[] | string {
  const online = readable(scene);
  for (const { code } of online) {
    const actuators = Object.values(scene.configuration.controllers[code]?.actuators ?? {});
    const type = actuators.find(({ type_id }) => type_id !== undefined)?.type_id;
    if (type !== undefined) return [{ deviceTypeId: String(type), deviceCode: code }];
  }
  const [first] = online;
  return first === undefined ? "no controller is online" : [{ deviceTypeId: "2", deviceCode: first.code }];
}

async function shapeVerdict(check: ShapeCheck, scene: Scene, signal: AbortSignal): Promise<Verdict> {
  const queries = check.queries(scene);
  if (typeof queries === "string") return notTried(queries);
  const { operation, isVital } = check;
  const answers: RawAnswer[] = [];
  let query: OperationShape["query"];
  for (const asked of queries) {
    try {
      answers.push(await scene.answers.ask(operation, asked, signal));
    } catch (error) {
      const renamed = await withOtherName(operation, asked, error, scene, signal);
      if (renamed === null) return refusalVerdict(error, isVital);
      answers.push(renamed.answer);
      query = { deviceCode: renamed.name };
    }
  }
  if (operation === "device") scene.evidence.devices = answers.flatMap((answer) => devicesIn(answer, {}));
  return answersVerdict(check, answers, query, scene);
}

function refusalVerdict(error: unknown, isVital: boolean): Verdict {
  const verdict = platformVerdict(error);
  if (verdict === null) throw error;
  return isVital ? verdict : { ...verdict, status: "warning" };
}

function answersVerdict(
  { operation, items, isVital }: ShapeCheck,
  answers: readonly RawAnswer[],
  query: OperationShape["query"],
  { configuration }: Scene,
): Verdict {
  const { shapes, time_zone: timeZone } = configuration.platform;
  const shape = shapes[operation] ?? {};
  const decoded = answers.map((answer) => decodedAnswer(answer, operation, shape, timeZone));
  const found = decoded.reduce((sum, one) => sum + one.found.length, 0);
  const problems = [...new Set(decoded.flatMap((one) => one.problems))];
  if (problems.length === 0 && query === undefined)
    return ok(`understood: ${found === 0 ? "no" : found} ${items[found === 1 ? 0 : 1]}`);
  if (found > 0 && query === undefined && problems.every((one) => one.startsWith(pageProblem)))
    return warning(
      `${found} ${items[found === 1 ? 0 : 1]} understood, but they are ${pageProblem}`,
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
    return warning(`${found} ${items[found === 1 ? 0 : 1]} understood, but also: ${what}`, remedy);
  return isVital ? failed(`not understood: ${what}`, remedy) : warning(`not understood: ${what}`, remedy);
}

const missingName =
  /(?:缺少|缺失|missing|required|expects?)[^A-Za-z_]{0,20}(?:parameter|param|field|参数)?[^A-Za-z_]{0,10}([A-Za-z_]\w{1,40})/i;

/** The platform says which query parameter it misses: asks again with the code under that name. */
async function withOtherName(
  operation: string,
  query: Query,
  error: unknown,
  { answers }: Scene,
  signal: AbortSignal,
): Promise<{ readonly name: string; readonly answer: RawAnswer } | null> {
  if (!(error instanceof PlatformError) || query["deviceCode"] === undefined) return null;
  const name = missingName.exec(error.facts.platformMessage ?? "")?.[1];
  if (name === undefined || name === "deviceCode" || Object.hasOwn(query, name)) return null;
  try {
    const answer = await answers.ask(operation, { ...query, [name]: query["deviceCode"] }, signal);
    return { name, answer };
  } catch {
    return null;
  }
}

/** The readings of a controller as they came; rejects with a PlatformError. */
export const sensorAnswer = ({ answers }: Scene, code: string, signal: AbortSignal): Promise<RawAnswer> =>
  answers.ask("sensor-data", { deviceCode: code }, signal);
