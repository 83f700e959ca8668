import { PlatformError } from "../../greenhouse/platform-error.js";
import { credential, isToken, type Credential, type CredentialSource } from "./credential.js";

/** A token of the configuration: there is never another one. */
export function staticToken(token: string): CredentialSource {
  const only: Credential | null = isToken(token) ? credential(token, 1) : null;
  return {
    key: "platform.token",
    current: () => only,
    atHand: () => Promise.resolve(only),
    obtain: () => (only ? Promise.resolve(only) : Promise.reject(unusable())),
    renew: () => Promise.resolve(false),
    accepted: () => undefined,
    refusedAgain: () => undefined,
    secrets: () => [token],
    tokens: () => [token],
    close: () => Promise.resolve(),
  };
}

const unusable = () =>
  new PlatformError(
    "not sent; platform.token is empty or holds characters that cannot be sent (a line break, a blank?)",
    { kind: "unauthorized", host: "business", operation: "credential", sent: false },
  );
