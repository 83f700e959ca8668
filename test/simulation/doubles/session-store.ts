import type { Files } from "../../../src/runtime/file-system.js";
import type { SavedSession } from "../../../src/platform/session/session-store.js";
import { noHistory } from "../../../src/platform/session/sign-in-pace.js";

/** The product's store hashes the account on another thread, in real time; this one keeps the session as it stands. */
export class SessionStore {
  readonly #path: string;
  readonly #files: Files;

  constructor(dataDir: string, _account: string, files: Files) {
    this.#path = `${dataDir}/platform-session.json`;
    this.#files = files;
  }

  async load(): Promise<SavedSession> {
    const text = await this.#files.read(this.#path);
    return text === null ? { token: null, history: noHistory } : (JSON.parse(text) as SavedSession);
  }

  save(session: SavedSession): Promise<void> {
    return this.#files.writePrivate(this.#path, JSON.stringify(session));
  }
}
