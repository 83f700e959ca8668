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
  type PostRecord,
  success,
  writeBody,
} from "./call.js";
import { type AnswerFault, answerFaults, type FaultName, type FaultOf, type FaultSpec } from "./faults.js";
import { type OperationName, operationOf } from "./operations.js";
import { type PlatformOptions, settingsOf } from "./platform-options.js";
import { PlatformState } from "./platform-state.js";
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
  const { body } = failure(
    state.settings.dialect,
    form === "body" ? 401 : form,
    "token无效或已过期",
    call.requestId,
  );
  return { status: form === "body" ? 200 : form, body };
}

const maintenance =
  "<!DOCTYPE html><html><head><title>系统维护中</title></head><body><h1>系统升级维护，请稍后再试</h1></body></html>";

const html = (status: number): Partial<Decision> => ({
  status,
  headers: { "content-type": "text/html;charset=UTF-8" },
  body:
    status === 200 ? maintenance : `<html><body><center><h1>${status}</h1></center><hr>nginx</body></html>`,
});

const json = { "content-type": "application/json;charset=UTF-8" };

/** What is left of an answer; `answer` is null when the request was not carried out. */
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
  body_code: (state, call, spec) => {
    const message = spec.message ?? "系统繁忙";
    const refused = failure(state.settings.dialect, spec.code ?? 500, message, call.requestId);
    return { status: refused.status, headers: json, body: writeBody(refused, state.settings.dialect) };
  },
  throttle: (state, call, spec) => {
    const status = spec.status ?? 429;
    const { body } = failure(state.settings.dialect, status, "请求过于频繁", call.requestId);
    const retryAfter = String(Math.ceil((spec.retryAfterMs ?? 5000) / 1000));
    return {
      status,
      headers: { ...json, "retry-after": retryAfter },
      body: writeBody({ status, body }, state.settings.dialect),
    };
  },
  unauthorized: (state, call, spec) => {
    const refused = badToken(state, call);
    return {
      status: spec.status ?? refused.status,
      headers: json,
      body: writeBody(refused, state.settings.dialect),
    };
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

/** The answer a fault leaves; see `Decision` for what the transport makes of it. */
function spoil(
  state: PlatformState,
  call: Call,
  spec: FaultOf<AnswerFault>,
  answer: Decision | null,
): Decision {
  const plain: Decision = answer ?? { status: 200, headers: json, body: "{}", delayMs: 0, cut: null };
  return { ...plain, ...spoilers[spec.fault](state, call, spec, answer) };
}

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

const jsonHeaders: Decision["headers"] = { "content-type": "application/json;charset=UTF-8" };

/** A platform that starts at the real instant `now` (epoch ms). */
export function createPlatform(options: PlatformOptions, now: number): PlatformState {
  return new PlatformState(settingsOf(options, now), now);
}

/**
 * The whole platform as one function: what it answers to a request that arrives at `now`, having done what the request
 * asks. It knows no transport and no clock, so a server and a simulation on virtual time share it.
 */
export function respond(state: PlatformState, request: PlatformRequest, now: number): Decision {
  state.advance(now);
  const outage = state.outages.get(request.host);
  if (outage && state.now < outage.until)
    return outage.how === "refuse" ? silence("refused", 0) : silence(null, Infinity);
  const operation = operationOf(request.method, request.path, request.host);
  state.count(operation ?? "unknown");
  if (operation === null) return written(state, notFound(state, request));
  const call = callOf(state, operation, request);
  const target = { host: request.host, operation, controller: call.controller, address: call.address };
  const slow = state.faults.take(["slow"], target, state.now);
  const fault = state.faults.take(spoiling, target, state.now);
  const delayMs = slow ? (slow.delayMs ?? 2000) : 0;
  if (fault && isBefore(fault))
    return { ...spoil(state, call, fault, null), delayMs: spoiledDelay(fault.fault, delayMs) };
  const decision = written(state, refusal(state, call) ?? operations[operation](state, call));
  if (!fault) return { ...decision, delayMs };
  return { ...spoil(state, call, fault, decision), delayMs: spoiledDelay(fault.fault, delayMs) };
}

const spoiling: readonly AnswerFault[] = answerFaults.filter((name) => name !== "slow");

const spoiledDelay = (fault: string, delayMs: number): number => (fault === "timeout" ? Infinity : delayMs);

const silence = (cut: Decision["cut"], delayMs: number): Decision => ({
  status: 0,
  headers: {},
  body: "",
  delayMs,
  cut,
});

function written(state: PlatformState, answer: Answer): Decision {
  return {
    status: answer.status,
    headers: jsonHeaders,
    body: writeBody(answer, state.settings.dialect),
    delayMs: 0,
    cut: null,
  };
}

const notFound = (state: PlatformState, request: PlatformRequest): Answer => ({
  ...failure(
    state.settings.dialect,
    404,
    `no such operation: ${request.method} ${request.path}`,
    state.nextRequestId(),
  ),
  status: 404,
});

function callOf(state: PlatformState, operation: OperationName, request: PlatformRequest): Call {
  const requestId = state.nextRequestId();
  if (operation !== "set-value") {
    const code = operation === "sensor-data" ? state.settings.dialect.sensorQuery : "deviceCode";
    const controller = textOf(request.query, code);
    const address = textOf(request.query, "address");
    return { operation, request, controller, address, post: null, record: null, requestId };
  }
  const post = parsePost(request);
  const control = post.isValid ? post.control : { code: "", address: "", value: "" };
  const record: PostRecord = {
    at: state.now,
    ...control,
    requestId,
    accepted: false,
    effect: "not_processed",
  };
  state.posts.add(record);
  const [controller, address] = post.isValid ? [control.code, control.address] : [null, null];
  return { operation, request, controller, address, post, record, requestId };
}

function textOf(query: Readonly<Record<string, string>>, name: string): string | null {
  const text = Object.hasOwn(query, name) ? query[name] : undefined;
  return text === undefined || text === "" ? null : text;
}
