import { isLoopback } from "../../runtime/loopback.js";
import type { Finding } from "../problem.js";
import { urlOf } from "../urls.js";
import { given, isDraft, sectionOf, textOf, type Draft } from "./draft.js";

const credentials = ["token", "token_file", "sign_in"] as const;

/** The platform is spoken to with exactly one credential. */
export function oneCredential(root: Draft): Finding[] {
  if (!isDraft(root.platform)) return [];
  const platform = sectionOf(root, "platform");
  const [first, ...others] = credentials.filter((key) => given(platform, key));
  if (first === undefined)
    return [{ path: ["platform"], on: "key", message: "expected one of token, token_file and sign_in" }];
  return others.map((key) => ({
    path: ["platform", key],
    on: "key",
    message: `only one of token, token_file and sign_in may be given, and "${first}" is there already`,
  }));
}

/** A token on an unencrypted way can be read and used by others. */
export function encryptedPlatform(root: Draft): Finding[] {
  const platform = sectionOf(root, "platform");
  if (platform.allow_insecure === true) return [];
  return ["business_url", "realtime_url"].flatMap((key): Finding[] => {
    const url = urlOf(textOf(platform, key) ?? "");
    return url?.protocol !== "http:" || isLoopback(url.hostname)
      ? []
      : [
          {
            path: ["platform", key],
            on: "value",
            message:
              "http:// is only allowed to this computer, because the token could be read on the way: use https://, or set platform.allow_insecure to true",
          },
        ];
  });
}
