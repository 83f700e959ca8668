import type { Configuration } from "../config/schema.js";
import type { CredentialSettings, PlatformSettings } from "../platform/settings.js";

/** The `platform` section in the client's words. */
export function platformSettings(configuration: Configuration): PlatformSettings {
  const { platform } = configuration;
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
