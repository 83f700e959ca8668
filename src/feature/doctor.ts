import { msg, type Text } from "../language/text.js";
/* Checks that a feature adds to `doctor`. */

export type Status = "ok" | "warning" | "failed" | "skipped";

/** The finding of one check. `remedy` says what to do, in the words of the configuration. */
export interface Verdict {
  readonly status: Status;
  readonly summary: Text;
  readonly remedy?: Text;
  /** Texts from the platform in the summary, which a bug report must hide. */
  readonly foreign?: readonly string[];
}

export const ok = (summary: Text): Verdict => ({ status: "ok", summary });
export const warning = (summary: Text, remedy: Text): Verdict => ({ status: "warning", summary, remedy });
export const failed = (summary: Text, remedy: Text): Verdict => ({ status: "failed", summary, remedy });
export const notTried = (because: Text): Verdict => ({
  status: "skipped",
  summary: msg`not tried: ${because}`,
});

/** The link to the broker that the checks share. */
interface Probe {
  /** Resolves with the filters that the broker did not grant. */
  subscribe(filters: readonly string[]): Promise<readonly string[]>;
  unsubscribe(filters: readonly string[]): Promise<void>;
  /** Everything retained under the filters, by topic. */
  readRetained(filters: readonly string[]): Promise<{ readonly found: ReadonlyMap<string, string> }>;
}

/** What the checks of a feature work with. */
export interface Scene<Configuration> {
  readonly configuration: Configuration;
  /** The account's name in a fleet. */
  readonly account?: string | undefined;
  readonly evidence: {
    /** Null without a link to the broker. */
    readonly broker: Probe | null;
    /** Whether the link has only the rights of any client, not those of the bridge. */
    readonly isGuest: boolean;
  };
}

export interface Check<Context> {
  /** Its name in lines and JSON. */
  readonly id: string;
  /** Checks that have to pass, at most with a warning, before this one makes sense. */
  readonly needs: readonly string[];
  readonly run: (context: Context, signal: AbortSignal) => Promise<Verdict>;
}
