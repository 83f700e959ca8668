import { readFile } from "node:fs/promises";

/**
 * Options of every TLS connection of ours. Where nothing is said Node lets the environment variable
 * NODE_TLS_REJECT_UNAUTHORIZED=0 switch verification off, and a token would go to whoever answers.
 */
export const verifiedTls = { rejectUnauthorized: true } as const;

/** What to tell somebody whose environment says that certificates need not be verified; null where it does not. */
export const ignoredTlsEnvironment = (
  environment: Readonly<Record<string, string | undefined>>,
): string | null =>
  environment["NODE_TLS_REJECT_UNAUTHORIZED"] === "0"
    ? "NODE_TLS_REJECT_UNAUTHORIZED=0 is set and changes nothing: certificates are verified all the same. For a private authority set NODE_EXTRA_CA_CERTS, for the broker mqtt.tls.ca; take the variable away"
    : null;

/**
 * PEM text as it is, or the content of the file it names. Rejects with the file system's error, its message led by the
 * configuration key.
 */
export async function pem(textOrPath: string, key: string): Promise<string> {
  if (textOrPath.includes("-----BEGIN ")) return textOrPath;
  try {
    return await readFile(textOrPath, "utf8");
  } catch (error) {
    if (error instanceof Error) error.message = `${key}: ${error.message}`;
    throw error;
  }
}
