import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../src/settings/problem.js";
import { itFinds, load, loaded, platform, problemLines, problemsIn } from "./loading.js";
import { exampleText } from "./support/reference.js";

const hint = "`greenhouse2mqtt init` writes one, and `greenhouse2mqtt schema --example` shows every key";

describe("YAML that cannot be used", () => {
  it.each(["", "# nothing\n"])("is no file: %j", async (text) => {
    expect(await problemLines(text)).toEqual([`config.yaml: the file is empty; ${hint}`]);
  });

  // More may follow from the first.
  itFinds(
    String.raw`
    ‸mqtt: {} → platform: missing
    ‸- a → expected a section of keys with values
    ‸hello → expected a section of keys with values
    mqtt:⏎‸	url: x → tabs are not allowed as indentation; use blanks
    mqtt: {‸ → wrong indentation
    mqtt: "x‸ → something is missing here
    mqtt:⏎    url: x⏎‸  tls: y → wrong indentation
    mqtt: ‸@x → cannot start a value here
    data_dir: "C:‸\my data" → a backslash in "..." must be doubled
    name: ‸a: b → a section cannot start on the line of its key
    a: 1⏎‸---⏎b: 2 → a second document starts here
  `,
    { around: (row) => row, find: async (text) => (await problemsIn(text)).slice(0, 1) },
  );

  itFinds(String.raw`
    mirror: all⏎mqtt: { client_id: a, ‸client_id: b }⏎‸mirror: all → this key stands here twice; keep one of them
    mqtt: ‸&m { client_id: a }⏎broker: ‸*m → anchors (&name) are not allowed · aliases (*name) are not allowed
    mqtt: { ‸<<: { a: b } } → unknown key
    data_dir: ‸!file x⏎mqtt: ‸!section { a: b }⏎log: !!binary ‸eA== → unknown tag; !env NAME and !secret name are known
    ? ‸[a]⏎: b⏎? ‸⏎: c⏎!env ‸d: e → expected a plain key, not a list, section or alias · expected a key before the colon · tags and anchors are not allowed before a key
  `);

  it("an alias bomb is refused without being blown up, also where anything is allowed", async () => {
    const levels = Array.from({ length: 30 }, (_, n) => `l${n + 1}: &l${n + 1} [${`*l${n}, `.repeat(9)}], `);
    const bomb = `platform: { sign_in: { body: { l0: &l0 [lol, lol], ${levels.join("")} } } }`;
    expect((await problemLines(bomb)).length).toBeGreaterThan(30);
  });

  it.each(["[", "{a: ", "- ", "? ", "a: "])("100,000 times %j is refused, not a crash", async (opening) => {
    const lines = await problemLines(opening.repeat(100_000));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^config\.yaml:1:\d+: nested more than 64 levels deep$/);
  });

  it("a byte order mark and Windows line ends change no place", async () => {
    expect(await problemLines(`\uFEFF${platform}mirror: x\n`.replaceAll("\n", "\r\n"))).toEqual([
      "config.yaml:5:9 mirror: expected one of all, listed",
    ]);
    expect((await loaded(platform.replaceAll("\n", "\r\n"))).configuration.platform.token).toBe(
      "token-of-the-account",
    );
  });
});

const place = /^(?:config|secrets)\.yaml(?::\d+:\d+)?(?: \S.*)?: \S/;

/** config.example.yaml without its comments. */
const example = exampleText().replace(/^ *#.*\n| +#.*$/gm, "");

/** Whatever the text: a configuration, or problems that each have their line. */
async function isDecided(text: string, secrets = "mqtt_password: a\n"): Promise<void> {
  const result = await load(text, { env: { GREENHOUSE_TOKEN: "a" }, secrets });
  if (result.ok) return;
  expect(result.problems.length).toBeGreaterThan(0);
  for (const line of result.problems.map(formatProblem)) expect(line).toMatch(place);
}

const words = "platform controllers actuators broker users http values !env !secret".split(" ");
const joints = [": ", "\n  ", ..."- |---\n|...\n|<<|__proto__|constructor|null|0012|1e999".split("|")];
const yamlish = fc
  .array(
    fc.oneof(
      fc.constantFrom(..."{}[]:,-?&*!|>'\"%@`#\n\t ~<=".split("")),
      fc.constantFrom(...words),
      fc.constantFrom(...joints),
      fc.string({ unit: "binary", maxLength: 4 }),
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(""));

describe("no text crashes the loader", () => {
  it("anything like YAML, also as the file of secrets", async () => {
    await fc.assert(
      fc.asyncProperty(yamlish, (text) => isDecided(text)),
      { numRuns: 400 },
    );
    await fc.assert(
      fc.asyncProperty(yamlish, (secrets) => isDecided(example, secrets)),
      { numRuns: 200 },
    );
  });

  it("the example cut anywhere, or with anything put anywhere", async () => {
    const at = fc.nat({ max: example.length });
    const length = fc.oneof(fc.nat({ max: 12 }), fc.constant(Infinity));
    await fc.assert(
      fc.asyncProperty(at, length, yamlish, (start, removed, inserted) =>
        isDecided(example.slice(0, start) + inserted + example.slice(start + removed)),
      ),
      { numRuns: 250 },
    );
  });

  it("any values in the places of the example", async () => {
    const odd = ",~,[],{},!env X,!secret x,0x1,.inf,[{}],{a: {b: c}}".split(",");
    const value = fc.oneof(fc.json({ maxDepth: 3 }), fc.constantFrom(...odd));
    const keys = [...example.matchAll(/(?<=[\w-]: )[^\s{}[\],]+(?=[\n,} ])/g)];
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: keys.length - 1 }), value, (index, inserted) => {
        const found = keys[index];
        if (found === undefined) return Promise.resolve();
        const end = found.index + found[0].length;
        return isDecided(example.slice(0, found.index) + inserted + example.slice(end));
      }),
      { numRuns: 250 },
    );
  });
});
