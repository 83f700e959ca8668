import * as business from "./business-operations.js";
import { type Call, type Mistake, no, type Operation, parseJson, type PlatformRequest } from "./call.js";
import { advance } from "./events.js";
import { type FaultName, faults, type FaultSpec } from "./faults.js";
import { type OperationName, operationOf, routes } from "./operations.js";
import type { Platform } from "./platform.js";
import { needsOf } from "./readings.js";
import * as realtime from "./realtime-operations.js";
import { type Answer, isFields, success, writeBody } from "./shapes.js";

/** The function that answers each operation. */
const answers: Record<OperationName, Operation> = {
  "sign-in": business.signIn,
  station: business.stations,
  device: business.deviceList,
  "weather-data/avg": business.weatherAverage,
  "weather-data/list": business.weatherList,
  "video-data/list": business.videos,
  "control/mqtt": business.allControllers,
  "sensor-data": realtime.sensorData,
  "mqtt-client-status": realtime.connectionStatus,
  device_status: realtime.runningStatuses,
  "get-value": realtime.readValue,
  "set-value/flush": realtime.readGroup,
  "set-value": realtime.setValue,
  "GET set-value": () => success({ data: {} }),
};

/**
 * What the transport has to do. `delayMs` (real time) comes first; `Infinity`: no answer ever comes. `cut`: `refused`:
 * no connection; `before` and `after`: the connection broke without an answer, before or after the request was carried
 * out; `during`: it broke half way through the answer.
 */
export interface Decision {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly delayMs: number;
  readonly cut: "refused" | "before" | "during" | "after" | null;
}

const json = { "content-type": "application/json;charset=UTF-8" };
const silence: Decision = { status: 0, headers: {}, body: "", delayMs: 0, cut: null };

/** The decision to send an answer. */
const write = ({ dialect }: Platform, { status, body }: Answer): Decision => ({
  ...silence,
  status,
  headers: json,
  body: writeBody(body, dialect),
});

/**
 * The whole platform as one function: carries out a request that arrives at `now` and returns the answer. It knows no
 * transport and no clock, so a server and a simulation in virtual time share it.
 */
export function respond(platform: Platform, request: PlatformRequest, now: number): Decision {
  advance(platform, now);
  const { host, method, path } = request;
  const outage = platform.outageOf(host);
  if (outage !== null)
    return outage === "refuse" ? { ...silence, cut: "refused" } : { ...silence, delayMs: Infinity };
  const operation = operationOf(method, path, host);
  const counted = operation ?? "unknown";
  platform.requests.set(counted, (platform.requests.get(counted) ?? 0) + 1);
  if (operation === null) {
    const call = { platform, requestId: platform.nextRequestId() };
    return write(platform, { ...no(call, 404, `no such operation: ${method} ${path}`), status: 404 });
  }
  const call = callOf(platform, operation, request);
  const slow = platform.fault(["slow"], call);
  const lazy = platform.fault(["slow_controller"], call);
  const silent = platform.fault(["silent_controller"], call);
  const fault = platform.fault(spoiling, call);
  const isUnanswered = silent !== null || fault?.fault === "timeout";
  const delayMs = isUnanswered ? Infinity : delayOf(slow) + delayOf(lazy);
  const answer = () => refusal(call) ?? lacking(call) ?? answers[operation](call);
  const isLost = [fault, silent].some((one) => one !== null && isBefore(one));
  const decision = isLost ? null : write(platform, answer());
  const spoilt = fault ? spoilers[fault.fault](call, fault, decision) : {};
  return { ...(decision ?? { ...silence, status: 200, headers: json, body: "{}" }), ...spoilt, delayMs };
}

const delayOf = (slow: FaultSpec | null): number => (slow === null ? 0 : (slow.delay ?? 2000));

function callOf(platform: Platform, operation: OperationName, request: PlatformRequest): Call {
  const requestId = platform.nextRequestId();
  const { host, query } = request;
  const call = { platform, operation, host, request, requestId };
  if (operation !== "set-value") {
    const controller = query[queryName(call, "deviceCode")] ?? "";
    return { ...call, controller, address: query.address ?? "", post: null };
  }
  const { mistake, ...control } = parsePost(request);
  const { address, code: controller } = control;
  const fate = { accepted: false, effect: "not_processed" } as const;
  const record = platform.notePost({ at: platform.now, ...control, requestId, ...fate });
  return { ...call, controller, address, post: { record, mistake } };
}

/** Reads the body of `POST /api/set-value` by the interface's rules: `address` Int or String, the others String. */
function parsePost({ headers, body: sent }: PlatformRequest) {
  const none = { code: "", address: "", value: "" };
  const wrong = (why: string, status = 400): typeof none & { mistake: Mistake | null } => ({
    ...none,
    mistake: { why, status },
  });
  if (!(headers["content-type"] ?? "").toLowerCase().startsWith("application/json"))
    return wrong("Content-Type must be application/json", 415);
  const body = parseJson(sent ?? "");
  if (!isFields(body)) return wrong("the body must be a JSON object");
  const { address, value, deviceCode: code } = body;
  if (typeof code !== "string" || code === "") return wrong("deviceCode must be a String");
  if (typeof value !== "string" || value === "") return wrong("value must be a String");
  if (typeof address !== "string" && !Number.isSafeInteger(address))
    return wrong("address must be an Int or a String");
  return { code, address: String(address), value, mistake: null };
}

/** The refusal of a call with a missing or wrong credential; null if the call may pass. */
function refusal(call: Call): Answer | null {
  const { operation, platform, request } = call;
  const isChecked = request.host === "business" || platform.settings.auth.checkRealtime;
  if (operation === "sign-in" || !isChecked) return null;
  const { authorization = "" } = request.headers;
  if (authorization === "" && request.host === "business")
    return { status: 403, body: { error: "Forbidden", message: "Access Denied" } };
  const token = /^Bearer (\S+)$/.exec(authorization)?.[1];
  return token !== undefined && platform.tokens.accepts(token, platform.now) ? null : badToken(call);
}

function badToken(call: Call): Answer {
  const { refusal: form, refusalCode } = call.platform.settings.auth;
  const { body } = no(call, form === "body" ? refusalCode : form, "token无效或已过期");
  return { status: form === "body" ? 200 : form, body };
}

/** The answer to a call that lacks a required parameter; null if none is missing. */
function lacking(call: Call): Answer | null {
  const [, , , ...always] = routes[call.operation];
  const needs = [...always, ...needsOf(call.platform.readings, call.operation)];
  const lacks = needs.map((name) => queryName(call, name)).find((name) => !call.request.query[name]);
  return lacks === undefined ? null : no(call, 400, `缺少参数: ${lacks}`);
}

/** A dialect may rename the device code's parameter in `sensor-data`. */
const queryName = ({ operation, platform }: Pick<Call, "operation" | "platform">, name: string): string =>
  operation === "sensor-data" && name === "deviceCode" ? platform.dialect.sensorQuery : name;

const maintenance =
  "<!DOCTYPE html><html><head><title>系统维护中</title></head><body><h1>系统升级维护，请稍后再试</h1></body></html>";

const html = (status: number): Partial<Decision> => ({
  status,
  headers: { "content-type": "text/html;charset=UTF-8" },
  body:
    status === 200 ? maintenance : `<html><body><center><h1>${status}</h1></center><hr>nginx</body></html>`,
});

/** What a fault makes of an answer, which is null if the request was not carried out; see `Decision`. */
type Spoiler = (call: Call, spec: FaultSpec, answer: Decision | null) => Partial<Decision>;

const spoilers: Record<FaultName<"answer">, Spoiler> = {
  slow: () => ({}),
  timeout: () => ({}),
  reset: (_call, _spec, answer) => ({ cut: answer ? "after" : "before" }),
  truncated: () => ({ cut: "during" }),
  empty: () => ({ status: 200, body: "" }),
  garbage: () => ({ status: 200, headers: json, body: '{"code":200,"data":{"101":' }),
  html: (_call, { status = 200 }) => html(status),
  http_status: (_call, { status = 502 }) => html(status),
  body_code: (call, { code = 500, message = "系统繁忙" }) => write(call.platform, no(call, code, message)),
  throttle: (call, { status = 429, retry_after: retryAfterMs = 5_000 }) => ({
    ...write(call.platform, no(call, status, "请求过于频繁")),
    status,
    headers: { ...json, "retry-after": String(Math.ceil(retryAfterMs / 1000)) },
  }),
  unauthorized: (call, { status }) => {
    const refused = badToken(call);
    return write(call.platform, { ...refused, status: status ?? refused.status });
  },
  redirect: ({ request: { path } }, { status = 307, message }) => ({
    status,
    body: "",
    headers: { location: message ?? `https://elsewhere.example.com${path}` },
  }),
};

const spoiling: readonly FaultName<"answer">[] = faults.answer.filter((name) => name !== "slow");

const afterByNature: readonly FaultName[] = ["truncated", "empty", "garbage"];

/** Whether the request is dropped before the platform carries it out. */
const isBefore = ({ fault, when }: FaultSpec): boolean =>
  (when ?? (afterByNature.includes(fault) ? "after" : "before")) === "before";
