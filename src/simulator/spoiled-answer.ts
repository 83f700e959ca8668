import { badToken } from "./authorization.js";
import type { Call, Decision } from "./call.js";
import { failure, writeBody } from "./envelope.js";
import type { AnswerFault, FaultName, FaultOf, FaultSpec } from "./faults.js";
import type { PlatformState } from "./platform-state.js";

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
export const isBefore = (spec: FaultSpec): boolean =>
  (spec.when ?? (afterByNature.includes(spec.fault) ? "after" : "before")) === "before";

/** The answer a fault leaves; see `Decision` for what the transport makes of it. */
export function spoil(
  state: PlatformState,
  call: Call,
  spec: FaultOf<AnswerFault>,
  answer: Decision | null,
): Decision {
  const plain: Decision = answer ?? { status: 200, headers: json, body: "{}", delayMs: 0, cut: null };
  return { ...plain, ...spoilers[spec.fault](state, call, spec, answer) };
}
