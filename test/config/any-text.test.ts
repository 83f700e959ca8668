import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../src/config/problem.js";
import { contractExample, contractSurroundings } from "./contract-example.js";
import { load } from "./loading.js";

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
