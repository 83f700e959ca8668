import type { Language } from "../greenhouse/labels.js";
import type { SettingsDocument, SettingsProposal } from "../page/protocol.js";

/** Values at keys, null to take one away; or the whole text. */
export type WantedSettings =
  { readonly changes: Readonly<Record<string, unknown>> } | { readonly text: string };

type SavedSettings =
  | { readonly saved: true; readonly proposal: SettingsProposal }
  | {
      readonly saved: false;
      readonly why: "changed" | "wrong" | "not_writable";
      readonly message?: string;
      readonly proposal: SettingsProposal;
    };

export interface Saver {
  readonly language: Language;
  /** A user of the page, who is to stay an admin; null for whoever is none. */
  readonly admin: string | null;
}

/** The file of the configuration, for the page. */
export interface SettingsSource {
  read(): Promise<SettingsDocument>;
  check(wanted: WantedSettings, by: Saver): Promise<SettingsProposal>;
  /** Resolves once the disk has it. `admin`: who saves must be an admin of the page afterwards too; null for nobody of it. */
  save(wanted: WantedSettings, etag: string, by: Saver): Promise<SavedSettings>;
  /** Has what was saved taken up, once the answer has left. */
  takeUp(by: string | null): void;
  /** Reads the file again; what was wrong with it, or null. */
  readAgain(): Promise<string | null>;
}
