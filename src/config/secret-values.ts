import type { Configuration } from "./schema.js";

/** Shorter texts cannot be blanked in a log without destroying it, and protect nothing. */
const shortest = 4;

/**
 * Every text that must never reach a log, topic or message: tokens, passwords and the values of the sign-in body,
 * also as they look inside a URL and inside JSON. Longest first, so that none is blanked only in part.
 */
export function secretValues(configuration: Configuration): readonly string[] {
  const { platform, mqtt, broker, http } = configuration;
  const found = [
    platform.token,
    ...textsWithin(platform.sign_in?.body),
    mqtt.password,
    ...broker.users.map(({ password }) => password),
    http === false ? undefined : http.token,
  ];
  const texts = found.flatMap((text) => (text === undefined ? [] : spellings(text)));
  return [...new Set(texts)]
    .filter((text) => text.length >= shortest)
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

function textsWithin(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsWithin) : [];
}

const spellings = (text: string): string[] => [
  text,
  encodeURIComponent(text.replace(/\p{Cs}/gu, "\uFFFD")),
  JSON.stringify(text).slice(1, -1),
];
