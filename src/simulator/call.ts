import type { PlatformHost } from "../greenhouse/ports.js";
import type { FaultTarget } from "./faults.js";
import type { Platform, PostRecord } from "./platform.js";
import { type Answer, failure } from "./shapes.js";

/** A request, independent of its transport. Header names are lower case; the body is text. */
export interface PlatformRequest {
  readonly host: PlatformHost;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string | null;
}

/** A request with a known operation. */
export interface Call extends FaultTarget {
  readonly platform: Platform;
  readonly request: PlatformRequest;
  readonly requestId: string;
  /** For a POST of a value, with what is wrong in its body, if anything is. */
  readonly post: { readonly record: PostRecord; readonly mistake: Mistake | null } | null;
}

export interface Mistake {
  readonly status: number;
  readonly why: string;
}

export type Operation = (call: Call) => Answer;

export const no = (
  { platform, requestId }: Pick<Call, "platform" | "requestId">,
  code: number,
  why: string,
) => failure(platform, requestId, code, why);

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
