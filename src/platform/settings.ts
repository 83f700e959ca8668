import type { Configuration } from "../config/schema.js";

/*
 * The platform section of the configuration in this folder's words. Durations are ms.
 */

/** Where the token comes from; exactly one of three. */
export type CredentialSettings =
  | { readonly type: "token"; readonly token: string }
  | { readonly type: "token_file"; readonly path: string }
  | {
      readonly type: "sign_in";
      readonly body: Readonly<Record<string, unknown>>;
      readonly tokenPath?: string;
    };

/** How to read one operation where its answer is ambiguous. Paths are dotted: `data.list`. */
export interface OperationShape {
  readonly items?: string;
  readonly name?: string;
  readonly value?: string;
  readonly unit?: string;
  readonly time?: string;
  readonly channel?: string;
  readonly code?: string;
  /** Fixed parameters of the query, such as a page size. */
  readonly params?: Readonly<Record<string, string>>;
  /** The document's parameter name → the platform's. */
  readonly query?: Readonly<Record<string, string>>;
}

/** Keyed by operation as the document names it: `sensor-data`, `set-value/flush`, `control/mqtt`. */
export type ShapeSettings = Readonly<Record<string, OperationShape | undefined>>;

export interface PlatformTimeouts {
  readonly connectMs: number;
  /** Total, from the start of a read to its parsed body. */
  readonly readMs: number;
  /** The same for a control value, a sign-in and a fresh read. */
  readonly controlMs: number;
}

export interface PlatformSettings {
  readonly businessUrl: string;
  readonly realtimeUrl: string;
  readonly credential: CredentialSettings;
  /** IANA zone of platform times that carry none. */
  readonly timeZone: string;
  readonly timeouts: PlatformTimeouts;
  /** Polling reads in flight per host; commands have connections of their own. */
  readonly concurrency: number;
  readonly shapes: ShapeSettings;
  /** How the token is carried to the push channels; in a header where absent. */
  readonly push?: PushSettings;
}

/** How the push channels are opened. */
export interface PushSettings {
  /** How the token is carried on the handshake. */
  readonly credential: "header" | "query" | "none";
  /** Name of the query parameter with `query`. */
  readonly queryName: string;
}

export const usualPush: PushSettings = { credential: "header", queryName: "token" };

/** The `platform` section in this folder's words. */
export function platformSettings(platform: Configuration["platform"]): PlatformSettings {
  return {
    businessUrl: platform.business_url,
    realtimeUrl: platform.realtime_url,
    credential: credential(platform),
    timeZone: platform.time_zone,
    timeouts: {
      connectMs: platform.timeouts.connect,
      readMs: platform.timeouts.read,
      controlMs: platform.timeouts.control,
    },
    concurrency: platform.concurrency,
    shapes: platform.shapes,
    push: { credential: platform.push.credential, queryName: platform.push.query_name },
  };
}

function credential(platform: Configuration["platform"]): CredentialSettings {
  if (platform.token !== undefined) return { type: "token", token: platform.token };
  if (platform.token_file !== undefined) return { type: "token_file", path: platform.token_file };
  return { type: "sign_in", body: platform.sign_in?.body ?? {}, tokenPath: platform.sign_in?.token_path };
}
