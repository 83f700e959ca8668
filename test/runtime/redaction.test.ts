import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linesWithoutSecrets, textsIn, withoutSecrets, secretParts } from "../../src/runtime/redaction.js";
import { blanker } from "../../src/platform/session/credential.js";

const half = "pass\ud83dword";

/** What could give a secret away, as it stands and as a log line, an address or a header writes it. */
const writings: readonly (readonly [string, (secret: string) => string])[] = [
  ["as it is", (secret) => secret],
  ["in JSON", (secret) => JSON.stringify(secret).slice(1, -1)],
  ["as bytes", (secret) => Buffer.from(secret).toString()],
  ["in base64", (secret) => Buffer.from(secret).toString("base64")],
  ["in an address", (secret) => encodeURIComponent(Buffer.from(secret).toString())],
];

describe("the redactor", () => {
  it("takes any secret and any text, also halves of characters, and never throws", () => {
    const anyText = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(half, "\ud83d", "\udc00", ""));
    const units = fc.array(fc.nat({ max: 0xffff })).map((codes) => String.fromCharCode(...codes));
    fc.assert(
      fc.property(fc.array(fc.oneof(anyText, units)), fc.oneof(anyText, units), (secrets, text) => {
        const clean = withoutSecrets(() => secrets)(text);
        for (const secret of secrets) if (secret.length >= 4) expect(clean).not.toContain(secret);
      }),
    );
  });

  it.each(writings)("hides a secret %s", (_, write) => {
    for (const secret of ['quo"te/ß 温', half, "plain-token"])
      expect(withoutSecrets(() => [secret])(`before ${write(secret)} after`)).toBe("before [hidden] after");
  });

  it("hides none in part: a secret inside another one goes with the longer", () =>
    expect(withoutSecrets(() => ["token", "token-of-mine"])("token-of-mine, token")).toBe(
      "[hidden], [hidden]",
    ));

  it("leaves what is too short to be blanked, and asks for the secrets each time", () => {
    const secrets = ["abc"];
    const hide = withoutSecrets(() => secrets);
    expect(hide("abc later")).toBe("abc later");
    secrets.push("later");
    expect(hide("abc later")).toBe("abc [hidden]");
  });

  it.each([
    ["wrong", "the token is missing, wrong or expired (check platform.token)"],
    ["demo", '{"level":30,"user":"demo","msg":"logged in to the page"}'],
    ["demo", "connected to demo.example.com as demo; see demo/README"],
    ["Password", "Password login is on"],
    ["1234", '{"time":"2026-03-01T12:34:00Z","duration_ms":1234,"value":"1234"}'],
    ["OFF", "gh-0001/fan OFF: taken"],
  ])("leaves a line of our own as it is where the secret %s is a word of it", (secret, line) =>
    expect(linesWithoutSecrets(() => [secret])(line)).toBe(line),
  );

  it.each([
    ["Authorization: Bearer wrong", "Authorization: Bearer [hidden]"],
    ['{"authorization":"Bearer wrong"}', '{"authorization":"Bearer [hidden]"}'],
    ['{"account":"me","password":"wrong"}', '{"account":"me","password":"[hidden]"}'],
    [
      '{"err":{"message":"{\\"password\\":\\"wrong\\"}"}}',
      '{"err":{"message":"{\\"password\\":\\"[hidden]\\"}"}}',
    ],
    [
      "wss://host.example.com/ws?token=wrong&deviceCode=1",
      "wss://host.example.com/ws?token=[hidden]&deviceCode=1",
    ],
    ["wss://host.example.com/ws?x=wrong", "wss://host.example.com/ws?x=[hidden]"],
    ["mqtt://bridge:wrong@host:1883", "mqtt://bridge:[hidden]@host:1883"],
    ["access_token: wrong, and more", "access_token: [hidden], and more"],
    [`basic ${Buffer.from("wrong").toString("base64")}`, "basic [hidden]"],
    ["密码：wrong 密码:wrong", "密码：[hidden] 密码:[hidden]"],
  ])("hides it where it stands as a secret: %s", (line, safe) =>
    expect(linesWithoutSecrets(() => ["wrong"])(line)).toBe(safe),
  );

  it("hides any other secret anywhere in a line of our own", () => {
    const secrets = ["hunter2", "correcthorsebattery", "tok-en", "S3cret", "wrong"];
    const line = secrets.map((secret) => `a${secret}b`).join(" ");
    expect(linesWithoutSecrets(() => secrets)(line)).toBe(
      "a[hidden]b a[hidden]b a[hidden]b a[hidden]b awrongb",
    );
  });

  it("blanks long tokens in bytes and returns all other bytes as they are", () => {
    const blank = blanker({ tokens: () => ["token-of-the-account", "101"] });
    expect(blank(Buffer.from('{"name":"token-of-the-account","address":101}')).toString()).toBe(
      '{"name":"[hidden]","address":101}',
    );
    const bytes = Buffer.from([0xff, 0xfe, 0x31]);
    expect(blank(bytes)).toBe(bytes);
  });

  it("finds every text and number inside a value that is sent as it stands", () =>
    expect(textsIn({ account: "me", nested: [{ pin: 123 }, null, true] })).toEqual(["me", "123"]));

  it.each([
    ["a passphrase with blanks in it", []],
    ["correct-horse-battery", []],
    ["Bearer 0d5b3a8e-token-of-mine", ["0d5b3a8e-token-of-mine"]],
    [
      "https://hooks.example.com/services/notifications/T92c7f1e5aa0b?key=4711-0815-abcd",
      ["T92c7f1e5aa0b", "4711-0815-abcd"],
    ],
  ])(
    "gives of a secret the parts that may show without the rest, and no ordinary words: %s",
    (secret, parts) => expect(secretParts(secret)).toEqual([secret, ...parts]),
  );
});
