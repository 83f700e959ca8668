import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../src/config/problem.js";
import {
  contractExample,
  contractSurroundings,
  itFinds,
  load,
  loaded,
  platform,
  problemLines,
  rowsOf,
} from "./loading.js";

const hint = "`greenhouse2mqtt init` writes one, and config.example.yaml shows every key";

describe("YAML that cannot be used", () => {
  it.each(["", "# nothing\n"])("is no file: %j", async (text) => {
    expect(await problemLines(text)).toEqual([`config.yaml: the file is empty; ${hint}`]);
  });

  // More may follow from the first.
  itFinds(
    rowsOf`
    # a list
    - a
      :1:1: expected a section of keys with values
    # a text
    hello
      :1:1: expected a section of keys with values
    # a tab
    mqtt:⏎	url: x
      :2:1: tabs are not allowed as indentation; use blanks
    # an open bracket
    mqtt: {
      :2:1: wrong indentation; keys of one section start in the same column, and every [ and { is closed
    # an open quote
    mqtt: "x
      :2:1: something is missing here: a closing quote, bracket or comma, or the blank after a colon
    # wrong indentation
    mqtt:⏎    url: x⏎  tls: y
      :3:1: wrong indentation; keys of one section start in the same column, and every [ and { is closed
    # a value that cannot start so
    mqtt: @x
      :1:7: this character cannot start a value here; put the value in "quotes"
    # a backslash
    data_dir: "C:\my data"
      :1:14: a backslash in "..." must be doubled, or use single quotes
    # two colons
    name: a: b
      :1:7: a section cannot start on the line of its key; if this is one value, put it in "quotes"
    # several documents
    a: 1⏎---⏎b: 2
      :2:1: a second document starts here; keep everything in one, without ---
  `,
    async (text) => (await problemLines(text)).slice(0, 1),
  );

  itFinds(rowsOf`
    # repeated keys
    mirror: all⏎mqtt: { client_id: a, client_id: b }⏎mirror: all
      :6:23 mqtt.client_id: this key stands here twice; keep one of them
      :7:1 mirror: this key stands here twice; keep one of them
    # aliases and anchors
    mqtt: &m { client_id: a }⏎broker: *m
      :5:7 mqtt: anchors (&name) are not allowed; write the value where it is needed
      :6:9 broker: aliases (*name) are not allowed; write the value out
    # merge keys
    mqtt: { <<: { a: b } }
      :5:9 mqtt."…": unknown key
    # unknown tags
    data_dir: !file x⏎mqtt: !section { a: b }⏎log: !!binary eA==
      :5:11 data_dir: unknown tag; !env NAME and !secret name are known
      :6:7 mqtt: unknown tag; !env NAME and !secret name are known
      :7:15 log: unknown tag; !env NAME and !secret name are known
    # keys that are none
    ? [a]⏎: b⏎? ⏎: c⏎!env d: e
      :5:3: expected a plain key, not a list, section or alias
      :7:3: expected a key before the colon
      :9:6: tags and anchors are not allowed before a key
  `);

  it("an alias bomb is refused without being blown up, also where anything is allowed", async () => {
    const levels = Array.from(
      { length: 30 },
      (_, n) => `      l${n + 1}: &l${n + 1} [${`*l${n}, `.repeat(9)}]\n`,
    );
    const bomb = `platform:\n  sign_in:\n    body:\n      l0: &l0 [lol, lol]\n${levels.join("")}`;
    const lines = await problemLines(bomb);
    expect(lines[2]).toBe(
      "config.yaml:4:11 platform.sign_in.body.l0: anchors (&name) are not allowed; write the value where it is needed",
    );
    expect(lines).toHaveLength(33);
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

/** Whatever the text: a configuration, or problems that each have their line. */
async function isDecided(text: string, secrets = contractSurroundings.secrets): Promise<void> {
  const result = await load(text, { ...contractSurroundings, secrets });
  if (result.ok) return;
  expect(result.problems.length).toBeGreaterThan(0);
  for (const line of result.problems.map(formatProblem)) expect(line).toMatch(place);
}

const words = "platform controllers actuators broker users http values !env !secret".split(" ");
const joints = [
  ": ",
  "\n  ",
  "- ",
  "---\n",
  "...\n",
  "<<",
  "__proto__",
  "constructor",
  "null",
  "0012",
  "1e999",
];
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
      fc.asyncProperty(yamlish, (secrets) => isDecided(contractExample, secrets)),
      { numRuns: 200 },
    );
  });

  it("the contract's example cut anywhere", async () => {
    for (let end = 0; end <= contractExample.length; end += 7) await isDecided(contractExample.slice(0, end));
  });

  it("the contract's example with anything put anywhere", async () => {
    const at = fc.nat({ max: contractExample.length });
    await fc.assert(
      fc.asyncProperty(at, fc.nat({ max: 12 }), yamlish, (start, removed, inserted) =>
        isDecided(contractExample.slice(0, start) + inserted + contractExample.slice(start + removed)),
      ),
      { numRuns: 250 },
    );
  });

  it("any values in the places of the contract's example", async () => {
    const odd = [
      "",
      "~",
      "[]",
      "{}",
      "!env X",
      "!secret x",
      "!secret ha",
      "0x1",
      ".inf",
      "[{}]",
      "{a: {b: c}}",
    ];
    const value = fc.oneof(fc.json({ maxDepth: 3 }), fc.constantFrom(...odd));
    const keys = [...contractExample.matchAll(/(?<=[\w-]: )[^\s{}[\],]+(?=[\n,} ])/g)];
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: keys.length - 1 }), value, (index, inserted) => {
        const found = keys[index];
        if (found === undefined) return Promise.resolve();
        const end = found.index + found[0].length;
        return isDecided(contractExample.slice(0, found.index) + inserted + contractExample.slice(end));
      }),
      { numRuns: 250 },
    );
  });
});
