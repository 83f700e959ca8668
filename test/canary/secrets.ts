/* Planted texts that must not come out anywhere. All of them contain `marker`, which nothing else does. */

const marker = "CaNaRy7";

export const secrets = {
  token: `${marker}token4b1d77a2`,
  accountPassword: `${marker}account93ab27c1`,
  signedInToken: `${marker}signedin55aa10d3`,
  refreshToken: `${marker}refresh0c31e9f4`,
  brokerPassword: `${marker}broker77f2d0b6`,
  userPassword: `${marker}user5ce91f08`,
  ntfyTopic: `${marker}ntfytopic81cd02be`,
  ntfyToken: `${marker}ntfytoken3390aa5f`,
  telegramToken: `123456:${marker}telegram6b28c411`,
  wecomKey: `${marker}wecom5fa08e37`,
  dingtalkToken: `${marker}dingtalk17be9d40`,
  dingtalkSecret: `SEC${marker}dingsecretd84a6c02`,
  webhookPath: `${marker}webhook92c7f1e5`,
  webhookToken: `${marker}webhooktoken0d5b3a8e`,
  mailPassword: `${marker}mail4e7210fb`,
  /** Of a camera. */
  streamAddress: `https://cam:${marker}stream7a40@video.example.com/live.flv?key=${marker}streamkey19`,
  httpToken: `${marker}http20d86ea9`,
} as const;

/** A hash of the form `passwd` makes; of it nothing may be shown either. */
export const userHash = `scrypt:15:8:1:${Buffer.from(`${marker}salt00000000`).toString("base64url")}:${Buffer.from(`${marker}hash`.padEnd(32, "x")).toString("base64url")}`;

const base64 = (text: string) => Buffer.from(text).toString("base64").replace(/=+$/, "");
const hidden = [
  ...Object.values(secrets).flatMap((secret) => [
    secret,
    base64(secret),
    Buffer.from(secret).toString("hex"),
  ]),
  ...userHash.split(":").slice(-2),
];

/** The planted texts in `text`, also as base64 or hexadecimal; what is cut off counts from twelve characters on. */
export function leaksIn(text: string): readonly string[] {
  const found = hidden.filter((secret) => text.includes(secret));
  if (found.length > 0) return found;
  return Object.entries(secrets).flatMap(([name, secret]) =>
    text.includes(secret.slice(0, 12)) || text.includes(secret.slice(-12)) ? [`a part of ${name}`] : [],
  );
}
