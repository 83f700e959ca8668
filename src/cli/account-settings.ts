import { existsSync } from "node:fs";
import { join } from "node:path";
import { accountOf, type FleetSettings } from "../config/fleet.js";
import type { ReadFile } from "../config/load.js";
import type { AccountState, Fleet } from "../fleet/fleet.js";
import type { SettingsSource } from "../http/settings-source.js";
import type { ReturnedSettings } from "../page/protocol.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { SettingsFile } from "../saving/settings-file.js";
import { calmMs, returnedSentence, trialMs } from "./runs.js";
import { type SavedChange, settingsSource } from "./settings-source.js";

interface Parts {
  readonly settings: FleetSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly running: Pick<Fleet, "reload" | "state">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The files of a fleet's accounts, each changed and taken up as a reload of the fleet does; what does not come up goes back. */
export class AccountSettings {
  readonly #parts: Parts;
  readonly #returned = new Map<string, ReturnedSettings>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Why saved settings of an account are not in force; null where none were taken back. */
  returnedSentence(account: string): string | null {
    return returnedSentence(this.#returned.get(account) ?? null);
  }

  source(account: string): SettingsSource {
    const { settings, env } = this.#parts;
    const named = (extension: string) => join(settings.accounts, `${account}${extension}`);
    const sources = (reads?: ReadFile) => ({ env, ...(reads !== undefined && { readFile: reads }) });
    return settingsSource({
      file: existsSync(named(".yaml")) ? named(".yaml") : named(".yml"),
      env,
      load: (reads) => accountOf(account, settings.file, sources(reads)),
      dataDir: () => join(settings.data_dir, account),
      readAgain: () => this.#readAgain(),
      onSaved: (change, file) => {
        void this.#watch(account, change, file);
      },
      returned: () => this.#returned.get(account) ?? null,
    });
  }

  #readAgain(): Promise<string | null> {
    return this.#parts.running.reload().then(() => null, String);
  }

  async #watch(account: string, change: SavedChange, file: SettingsFile): Promise<void> {
    const { clock, log, running } = this.#parts;
    const before = running.state(account);
    await clock.wait(trialMs);
    const now = running.state(account);
    if (isUp(before, now, clock.now())) {
      this.#returned.delete(account);
      return;
    }
    const reason = `the bridge did not start by them (${now?.error ?? "no error is known"})`;
    try {
      if (!(await file.putBack(change.kept, change.etag))) return;
      this.#returned.set(account, {
        at: new Date(clock.now()).toISOString(),
        reason,
        difference: change.difference,
      });
      log.error({ account, reason, keys: change.keys }, "saved settings of an account are taken back");
      await this.#readAgain();
    } catch (error) {
      log.error({ account, err: error }, "the settings that were saved could not be taken back");
    }
  }
}

/** An account that another member of the cluster runs is none of this one's trouble, as is one that was removed. */
function isUp(before: AccountState | undefined, now: AccountState | undefined, at: number): boolean {
  if (now === undefined || now.phase === "standby" || now.phase === "stopping") return true;
  const isRestarted = now.restarts > (before?.restarts ?? 0);
  return now.phase === "running" && (!isRestarted || at - now.since >= calmMs);
}
