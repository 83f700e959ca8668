import type { Language } from "../greenhouse/labels.js";
import type { SettingsDocument, SettingsProposal, WantedSettings } from "./protocol.js";

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
  /** The page's user, who must stay an admin; null for anybody else. */
  readonly admin: string | null;
}

interface WantedBackup {
  readonly password: string | null;
  readonly fleet: boolean;
  readonly language: Language;
}

interface MadeBackup {
  readonly name: string;
  /** Read it at once: the next backup can start only when this one ends. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** What it does not contain, a sentence each. */
  readonly remarks: readonly string[];
}

/** Access of the page to the configuration file. */
export interface SettingsSource {
  read(): Promise<SettingsDocument>;
  check(wanted: WantedSettings, by: Saver): Promise<SettingsProposal>;
  /** Resolves when it is on disk. The `admin` in `by` must be an admin of the page afterwards too; null for no user. */
  save(wanted: WantedSettings, etag: string, by: Saver): Promise<SavedSettings>;
  /** Findings while trying to reach platform, broker and Home Assistant with it, as they come. */
  attempt(wanted: WantedSettings, language: Language, signal: AbortSignal): AsyncIterable<unknown>;
  /**
   * Everything that the bridge has, or with `fleet` all accounts; secrets only with a password. Null while another
   * backup is made.
   */
  backup(wanted: WantedBackup, signal: AbortSignal): Promise<MadeBackup | null>;
  /** Ends the program if something starts it again; resolves to whether it does, or to why that is refused. */
  restart(): Promise<boolean | string>;
  /** Has the saved configuration loaded, once the answer is sent. */
  takeUp(by: string | null): void;
  /** Whether saved settings may still be taken back. */
  isOnTrial(): boolean;
  /** Reads the file again; resolves to what is wrong with it, or null. */
  readAgain(): Promise<string | null>;
}

/** A piece of a backup of an account of a fleet. */
interface BackupPiece {
  /** Id of the whole file, chosen by its sender. */
  readonly id: string;
  /** Where in the file it begins. */
  readonly at: number;
  readonly bytes: Uint8Array;
  readonly end: BackupEnd | null;
}

/** Sent with the last piece. */
export interface BackupEnd {
  readonly password: string | null;
  /** The new name; null to keep the old one. */
  readonly account: string | null;
  readonly language: Language;
}

/** What was restored, a sentence a line; or the bytes received, if more has to come or a piece is missing. */
type Restored =
  | { readonly lines: readonly string[] }
  | { readonly size: number; readonly isMissing: boolean }
  | { readonly wrong: string }
  | { readonly isBusy: true };

export type RestoreAccount = (piece: BackupPiece) => Promise<Restored>;
