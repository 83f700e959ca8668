import { msg, type Text } from "../language/text.js";
/* What a feature has `doctor` look at. */

export type Status = "ok" | "warning" | "failed" | "skipped";

/** What one check found. `remedy` says what to do, in the words of the configuration. */
export interface Verdict {
  readonly status: Status;
  readonly summary: Text;
  readonly remedy?: Text;
  /** Texts of the platform inside the summary that a bug report must not show. */
  readonly foreign?: readonly string[];
}

export const ok = (summary: Text): Verdict => ({ status: "ok", summary });
export const warning = (summary: Text, remedy: Text): Verdict => ({ status: "warning", summary, remedy });
export const failed = (summary: Text, remedy: Text): Verdict => ({ status: "failed", summary, remedy });
export const notTried = (because: Text): Verdict => ({
  status: "skipped",
  summary: msg`not tried: ${because}`,
});

/** The link to the broker that the checks have opened. */
interface Probe {
  /** Resolves with the filters the broker did not grant. */
  subscribe(filters: readonly string[]): Promise<readonly string[]>;
  unsubscribe(filters: readonly string[]): Promise<void>;
  /** Everything retained under the filters, by topic. */
  readRetained(filters: readonly string[]): Promise<{ readonly found: ReadonlyMap<string, string> }>;
}

/** What the checks of a feature look at. */
export interface Scene<Configuration> {
  readonly configuration: Configuration;
  /** Its name in a fleet, where it is one of several. */
  readonly account?: string | undefined;
  readonly evidence: {
    /** Null where there is no link to the broker. */
    readonly broker: Probe | null;
    /** The link to the broker has only the rights of any client, not the bridge's. */
    readonly isGuest: boolean;
  };
}

export interface Check<Context> {
  /** As lines and JSON name it. */
  readonly id: string;
  /** Checks that must have passed (with a warning at most) before this one makes sense. */
  readonly needs: readonly string[];
  readonly run: (context: Context, signal: AbortSignal) => Promise<Verdict>;
}
