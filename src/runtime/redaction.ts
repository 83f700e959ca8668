/** Shorter secrets would blot out ordinary words; the configuration warns about them. */
const shortest = 4;

/**
 * Replaces every known secret in a text, as it stands and as JSON or a URL would write it. `secrets` is asked each time, as
 * tokens are learned while running.
 */
export function withoutSecrets(secrets: () => readonly string[]): (text: string) => string {
  let known: readonly string[] = [];
  let hidden: readonly string[] = [];
  return (text) => {
    const now = secrets();
    if (now.length !== known.length || now.some((secret, place) => secret !== known[place])) {
      known = now;
      hidden = spellings(now);
    }
    return hidden.reduce((clean, secret) => clean.replaceAll(secret, "[hidden]"), text);
  };
}

/** Longest first, so that none is hidden only in part. */
function spellings(secrets: readonly string[]): readonly string[] {
  const found = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < shortest) continue;
    found.add(secret).add(JSON.stringify(secret).slice(1, -1)).add(encodeURIComponent(secret));
    found.add(Buffer.from(secret).toString("base64"));
  }
  return [...found].sort((one, other) => other.length - one.length);
}
