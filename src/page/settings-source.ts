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
  /** A user of the page, who is to stay an admin; null for whoever is none. */
  readonly admin: string | null;
}

interface WantedBackup {
  readonly password: string | null;
  readonly fleet: boolean;
  readonly language: Language;
}

interface MadeBackup {
  readonly name: string;
  /** To be asked for at once: it makes room for the next one once it ends. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** What is not in it, a sentence each. */
  readonly remarks: readonly string[];
}

/** The file of the configuration, for the page. */
export interface SettingsSource {
  read(): Promise<SettingsDocument>;
  check(wanted: WantedSettings, by: Saver): Promise<SettingsProposal>;
  /** Resolves once the disk has it. `admin`: who saves must be an admin of the page afterwards too; null for nobody of it. */
  save(wanted: WantedSettings, etag: string, by: Saver): Promise<SavedSettings>;
  /** What comes of an attempt to reach platform, broker and Home Assistant by it, as it comes. */
  attempt(wanted: WantedSettings, language: Language, signal: AbortSignal): AsyncIterable<unknown>;
  /** All that the bridge has, or with `fleet` all accounts have; secrets only under a password. Null while this process makes another. */
  backup(wanted: WantedBackup, signal: AbortSignal): Promise<MadeBackup | null>;
  /** Ends the program where something starts it again; whether it does, or why that is refused. */
  restart(): Promise<boolean | string>;
  /** Has what was saved taken up, once the answer has left. */
  takeUp(by: string | null): void;
  /** Whether settings that were saved may be taken back yet. */
  isOnTrial(): boolean;
  /** Reads the file again; what was wrong with it, or null. */
  readAgain(): Promise<string | null>;
}

/** A backup of an account of a fleet comes in pieces. */
interface BackupPiece {
  /** Of the whole file, as its sender has named it. */
  readonly id: string;
  /** Where in the file it begins. */
  readonly at: number;
  readonly bytes: Uint8Array;
  readonly end: BackupEnd | null;
}

/** Said with the last piece. */
export interface BackupEnd {
  readonly password: string | null;
  /** Under which name; null for the one that it had. */
  readonly account: string | null;
  readonly language: Language;
}

/** A sentence a line of what was restored; how much of the file is there, where more is to come or a piece is missing. */
type Restored =
  | { readonly lines: readonly string[] }
  | { readonly size: number; readonly isMissing: boolean }
  | { readonly wrong: string }
  | { readonly isBusy: true };

export type RestoreAccount = (piece: BackupPiece) => Promise<Restored>;
