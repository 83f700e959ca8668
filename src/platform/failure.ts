import { PlatformError, type PlatformErrorFacts } from "../greenhouse/platform-error.js";
import type { BadAnswer } from "./answer.js";
import { isNotHttp, troubleCode, troubleOf } from "./connection-trouble.js";
import type { TransportFailure } from "./http/transport-failure.js";
import type { Operation } from "./operations.js";
import type { Redact } from "../runtime/redaction.js";
import { oneLine } from "./one-line.js";
import { remedyOf } from "./remedy.js";

/** What an error has to know about where it happened. */
export interface FailureScene {
  readonly operation: Operation;
  readonly url: URL;
  /** The configuration key of the credential: `platform.token`, `platform.token_file` or `platform.sign_in`. */
  readonly credentialKey: string;
  readonly redact: Redact;
  readonly deadlineMs: number;
}

export const urlKey = (operation: Operation): string =>
  operation.host === "business" ? "platform.business_url" : "platform.realtime_url";

/** The error of a request to which no whole answer came. */
export function transportError(failure: TransportFailure, scene: FailureScene): PlatformError {
  const { sent, status } = failure;
  const facts = { ...placeOf(scene), sent, ...(status === 0 ? {} : { status }) };
  switch (failure.reason) {
    case "timeout":
      return made(
        sent
          ? `no whole answer within ${scene.deadlineMs / 1000} s; the platform is slow or the line is bad`
          : `no connection within ${scene.deadlineMs / 1000} s; check this machine's network and router`,
        { ...facts, kind: sent ? "timeout" : "unreachable" },
        scene,
      );
    case "aborted":
      return made("given up by the caller", { ...facts, kind: "interrupted" }, scene);
    case "too_large":
      return made(
        `the answer is larger than ${scene.operation.maxAnswerMiB} MiB; check that ${urlKey(scene.operation)} is the platform's address`,
        { ...facts, kind: "protocol" },
        scene,
      );
    case "connection":
      return connectionError(failure, facts, scene);
  }
}

function connectionError(
  failure: TransportFailure,
  facts: Omit<PlatformErrorFacts, "kind">,
  scene: FailureScene,
): PlatformError {
  const code = troubleCode(failure.cause);
  const { what, remedy } = troubleOf(code, failure.sent);
  const kind = !failure.sent ? "unreachable" : isNotHttp(code) ? "protocol" : "interrupted";
  const text = `${what}; ${remedy.replace("{key}", urlKey(scene.operation))}`;
  return made(text, { ...facts, kind }, scene, plainCause(failure.cause, scene.redact));
}

/** The error of an answer that is no success. */
export function answerError(answer: BadAnswer, status: number, scene: FailureScene): PlatformError {
  const { code, message, requestId } = answer.envelope;
  const { redact } = scene;
  const facts: PlatformErrorFacts = {
    ...placeOf(scene),
    kind: answer.kind,
    status,
    sent: true,
    ...(code === null ? {} : { code: oneLine(redact(code), 64) }),
    ...(message === null ? {} : { platformMessage: oneLine(redact(message), 300) }),
    ...(requestId === null ? {} : { requestId: oneLine(redact(requestId), 100) }),
    ...(answer.retryAfterMs === null ? {} : { retryAfterMs: answer.retryAfterMs }),
  };
  return made(remedyOf(answer, facts, scene), facts, scene);
}

/** An error of our own about this operation: an answer that cannot be read, a call that is held back. */
export function made(
  text: string,
  facts: PlatformErrorFacts,
  scene: Pick<FailureScene, "operation" | "url" | "redact">,
  cause?: unknown,
): PlatformError {
  const { operation, url } = scene;
  const message = `${operation.label} at the ${operation.host} host (${url.host}): ${text}`;
  return new PlatformError(scene.redact(message), facts, cause === undefined ? undefined : { cause });
}

export const placeOf = ({ operation }: Pick<FailureScene, "operation">) => ({
  host: operation.host,
  operation: operation.label,
});

/** Name, code and message only: the original may hold headers, sockets and pieces of the answer. */
function plainCause(cause: unknown, redact: Redact): Error | undefined {
  if (!(cause instanceof Error)) return undefined;
  const code = troubleCode(cause);
  const plain = new Error(oneLine(redact(code === "" ? cause.message : `${code}: ${cause.message}`), 300));
  delete plain.stack;
  return plain;
}
