import { refusal } from "./authorization.js";
import { allControllers, deviceList, signIn, stations, videos } from "./business-operations.js";
import { parsePost, type Call, type Decision, type PlatformRequest } from "./call.js";
import { setValue } from "./control-operation.js";
import { failure, success, writeBody, type Answer } from "./envelope.js";
import { answerFaults, type AnswerFault } from "./faults.js";
import { operationOf, type OperationName } from "./operations.js";
import { settingsOf, type PlatformOptions } from "./platform-options.js";
import { PlatformState } from "./platform-state.js";
import type { PostRecord } from "./post-log.js";
import {
  connectionStatus,
  readGroup,
  readValue,
  runningStatusList,
  sensorData,
} from "./realtime-operations.js";
import { isBefore, spoil } from "./spoiled-answer.js";
import { weatherAverage, weatherList } from "./weather-operations.js";

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
