import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { type TextFile, textFile, withDeadline } from "../../runtime/file-system.js";
import { isFields, own } from "../decode/decoding.js";
import type { PlatformInside } from "../inside.js";
import { isToken } from "./credential.js";
import { noHistory, type SignInHistory } from "./sign-in-pace.js";

export interface SavedToken {
  readonly token: string;
  /** Epoch ms; null where the platform does not say. */
  readonly expiresAt: number | null;
}

export interface SavedSession {
  readonly token: SavedToken | null;
  readonly history: SignInHistory;
  /** Codes of refusals against which another token did not help, with the time, epoch ms. */
  readonly vain?: VainCodes;
}

export type VainCodes = ReadonlyMap<string, number>;

export const noCodes: VainCodes = new Map();

const nothing: SavedSession = { token: null, history: noHistory };

const sessionName = "platform-session.json";

export const deriveKey = promisify<string, Buffer, number, Buffer>(scrypt);

/**
 * The token and the sign-in history in `data_dir`, mode 600. Those of another account or host are not used. A salted
 * hash identifies the account, so the file reveals nothing about it.
 */
export class SessionStore {
  readonly #path: string;
  /** A sign-in, or a stop waiting for it, must not wait for a disk that does not answer. */
  readonly #file: TextFile;
  readonly #account: string;
  readonly #derive: typeof deriveKey;
  readonly #log: PlatformInside["log"];
  #salt: Buffer | null = null;
  #mark: Buffer = Buffer.alloc(0);

  /** `account`: any text that changes with host, account or password. */
  constructor(
    dataDir: string,
    account: string,
    derive: typeof deriveKey,
    { files, clock, log }: Pick<PlatformInside, "files" | "clock" | "log">,
  ) {
    this.#path = join(dataDir, sessionName);
    this.#file = withDeadline(textFile(dataDir, sessionName, files), clock);
    this.#account = account;
    this.#derive = derive;
    this.#log = log;
  }

  async load(): Promise<SavedSession> {
    try {
      const saved = parse(await this.#file.read());
      if (saved !== null && (await this.#isOurs(saved))) return savedSession(saved);
    } catch (error) {
      this.#log.warn({ reason: String(error) }, `${this.#path} cannot be read; signing in starts afresh`);
    }
    return nothing;
  }

  /** A full or read-only disk costs the memory over restarts, not the session. */
  async save(session: SavedSession): Promise<void> {
    try {
      const salt = await this.#ownSalt();
      const { token, history, vain = noCodes } = session;
      const record = {
        version: 1,
        salt: salt.toString("hex"),
        account: this.#mark.toString("hex"),
        ...history,
        ...token,
        ...(vain.size === 0 ? {} : { vain: Object.fromEntries(vain) }),
      };
      await this.#file.write(`${JSON.stringify(record)}\n`);
    } catch (error) {
      this.#log.warn(
        { reason: String(error) },
        `${this.#path} cannot be written; the next start has to sign in again`,
      );
    }
  }

  async #isOurs(saved: Record<string, unknown>): Promise<boolean> {
    const salt = Buffer.from(String(own(saved, "salt")), "hex");
    const theirs = Buffer.from(String(own(saved, "account")), "hex");
    if (salt.length < 16) return false;
    const mark = this.#salt?.equals(salt) === true ? this.#mark : await this.#derive(this.#account, salt, 32);
    if (theirs.length !== mark.length || !timingSafeEqual(theirs, mark)) return false;
    this.#salt = salt;
    this.#mark = mark;
    return true;
  }

  async #ownSalt(): Promise<Buffer> {
    if (this.#salt) return this.#salt;
    const salt = randomBytes(16);
    const mark = await this.#derive(this.#account, salt, 32);
    return this.#firstSalt(salt, mark);
  }

  /** Of two concurrent calls the first one sets the salt, as a mark belongs to its salt. */
  #firstSalt(salt: Buffer, mark: Buffer): Buffer {
    if (this.#salt) return this.#salt;
    this.#mark = mark;
    this.#salt = salt;
    return salt;
  }
}

function parse(text: string | null): Record<string, unknown> | null {
  if (text === null) return null;
  const value: unknown = JSON.parse(text);
  return isFields(value) ? { ...value } : null;
}

function savedSession(saved: Record<string, unknown>): SavedSession {
  const { token, expiresAt, refusals, attemptedAt, refusedBy, vain } = saved;
  return {
    vain: new Map(
      Object.entries(isFields(vain) ? vain : {}).flatMap(([code, at]) =>
        typeof at === "number" ? [[code, at] as const] : [],
      ),
    ),
    token:
      typeof token === "string" && isToken(token)
        ? { token, expiresAt: typeof expiresAt === "number" ? expiresAt : null }
        : null,
    history: {
      refusals: typeof refusals === "number" && refusals > 0 ? Math.floor(refusals) : 0,
      attemptedAt: typeof attemptedAt === "number" ? attemptedAt : null,
      refusedBy: refusedBy === "business" || refusedBy === "realtime" ? refusedBy : null,
    },
  };
}
