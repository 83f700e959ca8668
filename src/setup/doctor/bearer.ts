import { readFile } from "node:fs/promises";
import { platformSettings } from "../../compose/platform-settings.js";
import { nodeFiles } from "../../platform/files.js";
import { SessionStore } from "../../platform/session/session-store.js";
import { silentLog } from "./silent-log.js";
import type { Scene } from "./scene.js";

/**
 * The token that the platform client has just been let in with; null when it cannot be had without asking the platform. The
 * client shows its token to nobody, so one that was got by signing in is read where the client saved it.
 */
export async function tokenAtHand({ configuration }: Scene): Promise<string | null> {
  const { credential, businessUrl } = platformSettings(configuration);
  switch (credential.type) {
    case "token":
      return credential.token;
    case "token_file":
      return readFile(credential.path, "utf8").then(
        (text) => text.trim(),
        () => null,
      );
    case "sign_in": {
      const account = JSON.stringify([businessUrl, credential.body]);
      const saved = await new SessionStore(configuration.data_dir, account, nodeFiles, silentLog).load();
      return saved.token?.token ?? null;
    }
  }
}
