import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { formatPath, formatProblem } from "../../src/settings/problem.js";
import { nearest } from "../../src/runtime/similar-words.js";
import { jsonSchema } from "../../src/config/schema.js";
import { topicFilter } from "../../src/settings/values.js";
import { isLoopback } from "../../src/runtime/sockets.js";
import { loaded, platform, problemLines } from "./loading.js";

describe("a host", () => {
  const own =
    "localhost LOCALHOST 127.0.0.1 127.255.0.3 ::1 [::1] 0:0:0:0:0:0:0:1 ::ffff:127.0.0.1 x.localhost";
  const others = " 0.0.0.0 :: 128.0.0.1 127.0.0.1.example.com localhost.example.com 1127.0.0.1 127.0.0 pi";
  it.each(own.split(" "))("%s is this computer", (host) => expect(isLoopback(host)).toBe(true));
  it.each(others.split(" "))("%j may be another", (host) => expect(isLoopback(host)).toBe(false));
});

describe("the nearest word", () => {
  const words = ["address", "name", "mode_address", "travel_time", "id", "kind"];
  it.each([
    ["adress", "address"],
    ["ADDRESS", "address"],
    ["travelTime", "travel_time"],
    ["mode address", "mode_address"],
    ["nmae", "name"],
    ["di", null],
    ["nam", "name"],
    ["ID", "id"],
    ["colour", null],
    ["", null],
    ["x".repeat(100_000), null],
  ])("of %j is %j", (word, expected) => expect(nearest(word.slice(0, 200_000), words)).toBe(expected));

  it("is meant by one with two neighbours exchanged, however short", () => {
    expect(nearest("ulr", ["username", "tls", "url"])).toBe("url");
    expect(nearest("lru", ["url"])).toBeNull();
    expect(nearest("no", ["on", "off"])).toBeNull();
  });
});

describe("a problem is one line", () => {
  it.each([
    [["a", "b", 0, "c"], "a.b[0].c"],
    [["GH.1", "空气温度", "set-value/flush"], "GH.1.空气温度.set-value/flush"],
    [["password secret"], '"password…"'],
    [["a\nb"], '"a…"'],
    [["x".repeat(65)], `"${"x".repeat(64)}…"`],
    [[], ""],
  ])("%j → %s", (path, shown) => expect(formatPath(path)).toBe(shown));

  it("with any path", () =>
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.nat())), (path) => {
        const problem = { file: "f", line: 1, column: 1, path: formatPath(path), message: "m" };
        expect(formatProblem(problem)).not.toMatch(/[\r\n\u2028\u2029]/);
      }),
    ));
});

describe("a topic filter of a broker's user", () => {
  const isRight = (filter: string) => topicFilter().safeParse(filter).success;
  it.each(["#", "a/+/b/#", "+", "/a//b"])("%j is well-formed", (filter) =>
    expect(isRight(filter)).toBe(true),
  );
  it.each(["", "a#", "a/#/b", "a+/b", "a\0"])("%j is not", (filter) => expect(isRight(filter)).toBe(false));
});

const spellings = ["0012", "101", "1e3", "0x1F", "0o17", "12345678901234567890", "1.0", "true", "1_000"];

describe("text is taken as written", () => {
  it.each(spellings)("%s as address, value and device code", async (written) => {
    const { configuration } = await loaded(`${platform}controllers:
  ${written}:
    actuators: { a: { kind: custom, address: 1, values: { on: ${written} } } }
    parameters: { p: { address: ${written} } }
`);
    const { actuators, parameters } = configuration.controllers[written] ?? {};
    expect([actuators?.a?.values.on, parameters?.p?.address]).toEqual([written, written]);
  });

  it.each(['"0012"', "'0012'", "!!str 0012"])("quoted or tagged: %s", async (written) => {
    const { configuration } = await loaded(
      `${platform}controllers: { G: { parameters: { p: { address: ${written} } } } }\n`,
    );
    expect(configuration.controllers.G?.parameters.p?.address).toBe("0012");
  });

  it("also names, passwords and values from variables", async () => {
    const text = `${platform}mqtt: { username: 0012, password: !env PASSWORD }\ncontrollers: { G: { name: 1e3 } }\n`;
    const { configuration } = await loaded(text, { env: { TOKEN: "0001234", PASSWORD: "00042" } });
    expect(configuration.platform.token).toBe("0001234");
    expect(configuration.mqtt).toMatchObject({ username: "0012", password: "00042" });
    expect(configuration.controllers.G?.name).toBe("1e3");
  });
});

const named = (code: string) => `${platform}controllers: { ${JSON.stringify(code)}: { ignore: true } }\n`;

describe("a device code in the configuration", () => {
  it.each(["温室/1#+", "GH 1", "0012", "a:b", "x".repeat(64)])(
    "is taken as the platform writes it: %s",
    async (code) => {
      const { configuration } = await loaded(named(code));
      expect(Object.keys(configuration.controllers)).toEqual([code]);
      const schema = z.fromJSONSchema(jsonSchema());
      const entry = { platform: { business_url: "https://a.b", realtime_url: "https://a.b", token: "x" } };
      expect(schema.safeParse({ ...entry, controllers: { [code]: { ignore: true } } }).success).toBe(true);
    },
  );

  it.each(["..", " GH", "GH ", "a\tb", "a/../b", "x".repeat(65)])(
    "that cannot be one is an error: %j",
    async (code) => {
      expect(await problemLines(named(code))).toEqual([
        expect.stringContaining("expected a device code as the platform writes it"),
      ]);
    },
  );
});
