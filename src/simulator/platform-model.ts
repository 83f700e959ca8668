import {
  allControllers,
  deviceList,
  signIn,
  stations,
  videos,
  weatherAverage,
  weatherList,
} from "./business-operations.js";
import {
  type Answer,
  type Call,
  type Decision,
  failure,
  parsePost,
  type PlatformRequest,
  success,
  writeBody,
} from "./call.js";
import { type AnswerFault, answerFaults, type FaultName, type FaultSpec } from "./faults.js";
import { fireEvent } from "./happenings.js";
import { type OperationName, operationOf, routes } from "./operations.js";

import { type PlatformOptions, PlatformState, settingsOf } from "./platform-state.js";
import {
  connectionStatus,
  readGroup,
  readValue,
  runningStatusList,
  sensorData,
  setValue,
} from "./realtime-operations.js";

const forbidden: Answer = { status: 403, body: { error: "Forbidden", message: "Access Denied" } };

/** The refusal of a call whose credential is missing or wrong; null where it may pass. */
function refusal(state: PlatformState, call: Call): Answer | null {
  if (call.operation === "sign-in") return null;
  const { auth } = state.settings;
  const { host, headers } = call.request;
  if (host === "realtime" && !auth.checkRealtime) return null;
  const header = headers.authorization;
  if (header === undefined || header === "") return host === "business" ? forbidden : badToken(state, call);
  const token = /^Bearer (\S+)$/.exec(header)?.[1];
  return token !== undefined && state.tokens.accepts(token, state.now) ? null : badToken(state, call);
}

function badToken(state: PlatformState, call: Call): Answer {
  const { refusal: form } = state.settings.auth;
  const { body } = failure(state, call, form === "body" ? 401 : form, "token无效或已过期");
  return { status: form === "body" ? 200 : form, body };
}

/** What an operation answers to a call without what it needs; null where all of it is there. */
function lacking(state: PlatformState, call: Call): Answer | null {
  const { query } = call.request;
  const lacks = routes[call.operation].needs
    .map((name) => queryName(state, call, name))
    .find((name) => !query[name]);
  return lacks === undefined ? null : failure(state, call, 400, `缺少参数: ${lacks}`);
}

/** A dialect may call the device code of the sensor data otherwise. */
const queryName = (state: PlatformState, { operation }: Pick<Call, "operation">, name: string): string =>
  operation === "sensor-data" && name === "deviceCode" ? state.settings.dialect.sensorQuery : name;

const maintenance =
  "<!DOCTYPE html><html><head><title>系统维护中</title></head><body><h1>系统升级维护，请稍后再试</h1></body></html>";

const html = (status: number): Partial<Decision> => ({
  status,
  headers: { "content-type": "text/html;charset=UTF-8" },
  body:
    status === 200 ? maintenance : `<html><body><center><h1>${status}</h1></center><hr>nginx</body></html>`,
});

const json = { "content-type": "application/json;charset=UTF-8" };
const silence: Decision = { status: 0, headers: {}, body: "", delayMs: 0, cut: null };

/** An answer as it goes out. */
const written = (state: PlatformState, answer: Answer): Decision => ({
  ...silence,
  status: answer.status,
  headers: json,
  body: writeBody(answer, state.settings.dialect),
});

/** What a fault makes of an answer, which is null when the request was not carried out; see `Decision`. */
type Spoiler = (
  state: PlatformState,
  call: Call,
  spec: FaultSpec,
  answer: Decision | null,
) => Partial<Decision>;

const spoilers: Record<AnswerFault, Spoiler> = {
  slow: () => ({}),
  timeout: () => ({}),
  reset: (_state, _call, _spec, answer) => ({ cut: answer ? "after" : "before" }),
  truncated: () => ({ cut: "during" }),
  empty: () => ({ status: 200, body: "" }),
  garbage: () => ({ status: 200, headers: json, body: '{"code":200,"data":{"101":' }),
  html: (_state, _call, spec) => html(spec.status ?? 200),
  http_status: (_state, _call, spec) => html(spec.status ?? 502),
  body_code: (state, call, { code = 500, message = "系统繁忙" }) =>
    written(state, failure(state, call, code, message)),
  throttle: (state, call, { status = 429, retryAfterMs = 5_000 }) => {
    const refused = written(state, failure(state, call, status, "请求过于频繁"));
    const retryAfter = String(Math.ceil(retryAfterMs / 1000));
    return { ...refused, status, headers: { ...refused.headers, "retry-after": retryAfter } };
  },
  unauthorized: (state, call, spec) => {
    const refused = badToken(state, call);
    return written(state, { ...refused, status: spec.status ?? refused.status });
  },
  redirect: (_state, call, spec) => ({
    status: spec.status ?? 307,
    headers: { location: spec.message ?? `https://elsewhere.example.com${call.request.path}` },
    body: "",
  }),
};

const afterByNature: readonly FaultName[] = ["truncated", "empty", "garbage"];

/** Whether the request is dropped before the platform carries it out. */
const isBefore = (spec: FaultSpec): boolean =>
  (spec.when ?? (afterByNature.includes(spec.fault) ? "after" : "before")) === "before";

const operations: Record<OperationName, (state: PlatformState, call: Call) => Answer> = {
  "sign-in": signIn,
  station: stations,
  device: deviceList,
  "weather-data/avg": weatherAverage,
  "weather-data/list": weatherList,
  "video-data/list": videos,
  "control/mqtt": allControllers,
  "sensor-data": sensorData,
  "mqtt-client-status": connectionStatus,
  device_status: runningStatusList,
  "get-value": readValue,
  "set-value/flush": readGroup,
  "set-value": setValue,
  "GET set-value": () => success({ data: {} }),
};

/** A platform that starts at the real instant `now` (epoch ms). */
export function createPlatform(options: PlatformOptions, now: number): PlatformState {
  return new PlatformState(settingsOf(options, now), now, fireEvent);
}

/**
 * The whole platform as one function: what it answers to a request that arrives at `now`, having done what the request
 * asks. It knows no transport and no clock, so a server and a simulation on virtual time share it.
 */
export function respond(state: PlatformState, request: PlatformRequest, now: number): Decision {
  state.advance(now);
  const outage = state.outages.get(request.host);
  if (outage && state.now < outage.until)
    return outage.how === "refuse" ? { ...silence, cut: "refused" } : { ...silence, delayMs: Infinity };
  const operation = operationOf(request.method, request.path, request.host);
  state.count(operation ?? "unknown");
  if (operation === null) return written(state, notFound(state, request));
  const call = callOf(state, operation, request);
  const slow = state.fault(["slow"], call);
  const fault = state.fault(spoiling, call);
  const delayMs = fault?.fault === "timeout" ? Infinity : slow ? (slow.delayMs ?? 2000) : 0;
  const answered = () => refusal(state, call) ?? lacking(state, call) ?? operations[operation](state, call);
  const decision = fault && isBefore(fault) ? null : written(state, answered());
  const spoilt = fault ? spoilers[fault.fault](state, call, fault, decision) : {};
  return { ...(decision ?? { ...silence, status: 200, headers: json, body: "{}" }), ...spoilt, delayMs };
}

const spoiling: readonly AnswerFault[] = answerFaults.filter((name) => name !== "slow");

function notFound(state: PlatformState, request: PlatformRequest): Answer {
  const text = `no such operation: ${request.method} ${request.path}`;
  return { ...failure(state, { requestId: state.nextRequestId() }, 404, text), status: 404 };
}

function callOf(state: PlatformState, operation: OperationName, request: PlatformRequest): Call {
  const requestId = state.nextRequestId();
  const { host, query } = request;
  if (operation !== "set-value") {
    const controller = query[queryName(state, { operation }, "deviceCode")] ?? "";
    const { address = "" } = query;
    return { host, operation, request, controller, address, post: null, record: null, requestId };
  }
  const post = parsePost(request);
  const control = post.isValid ? post.control : { code: "", address: "", value: "" };
  const record = state.notePost({
    at: state.now,
    ...control,
    requestId,
    accepted: false,
    effect: "not_processed",
  });
  const { code: controller, address } = control;
  return { host, operation, request, controller, address, post, record, requestId };
}
