/** Shorter secrets would blot out ordinary words; the configuration warns about them. */
const shortest = 4;

/** Replaces every known secret in a text, as it stands and as JSON or a URL would write it. */
export function withoutSecrets(secrets: readonly string[]): (text: string) => string {
  const spellings = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < shortest) continue;
    spellings.add(secret).add(JSON.stringify(secret).slice(1, -1)).add(encodeURIComponent(secret));
    spellings.add(Buffer.from(secret).toString("base64"));
  }
  const longestFirst = [...spellings].sort((one, other) => other.length - one.length);
  return (text) => longestFirst.reduce((clean, secret) => clean.replaceAll(secret, "[hidden]"), text);
}
