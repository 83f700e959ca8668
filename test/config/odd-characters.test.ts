import { describe, expect, it } from "vitest";
import { culprit, oddIn, strayIn } from "../../src/config/yaml/odd-characters.js";
import { loaded, platform, problemLines, warningLines } from "./loading.js";

/* Characters that look like another one, or like none. They are written as escapes, or nobody could read these tests. */

const house = (lines: string) =>
  `${platform}controllers:\n  GH-0001:\n    actuators:\n      roof:\n${lines}\n`;

describe("what looks like YAML and is none is named with its place, its code and what to write", () => {
  it.each<[what: string, text: string, said: RegExp]>([
    [
      "a no-break space behind a colon",
      house("        kind:\u00a0skylight\n        address: 101"),
      /:9:14.*U\+00A0 \(a no-break space\) stands here; write an ordinary blank/,
    ],
    [
      "an ideographic space behind a colon",
      house("        kind:\u3000skylight\n        address: 101"),
      /:9:14.*U\+3000 \(an ideographic space\)/,
    ],
    [
      "a full-width colon",
      house("        kind：skylight\n        address: 101"),
      /:9:13.*U\+FF1A \(a full-width colon\) stands here; write :/,
    ],
    ["a full-width colon as all that there is", house("        kind：skylight"), /:9:13.*roof: .*U\+FF1A/],
    [
      "a no-break space as indentation",
      house("        kind: skylight\n\u00a0       address: 101"),
      /:10:1.*U\+00A0/,
    ],
    [
      "an ideographic space as indentation",
      house("        kind: skylight\n\u3000\u3000address: 101"),
      /:10:1.*U\+3000/,
    ],
    ["a tab as indentation", house("\tkind: skylight"), /:9:1.*U\+0009 \(a tab\).*write blanks/],
    ["a tab behind blanks", house("        kind: skylight\n      \t  address: 101"), /:10:7.*(?:tab)/],
    [
      "a full-width comma between keys",
      house("        { kind: skylight，address: 101 }"),
      /:9:25.*U\+FF0C \(a full-width comma\) stands here; write ,/,
    ],
    [
      "full-width brackets",
      house("        ｛ kind: skylight, address: 101 ｝"),
      /:9:9.*U\+FF5B \(a full-width bracket\) stands here; write \{/,
    ],
    [
      "a dash in the place of a hyphen",
      `${platform}http:\n  users:\n    – username: anna\n`,
      /:7:5.*U\+2013 \(a dash\) stands here; write -/,
    ],
    [
      "a byte order mark in the middle",
      `${platform}\ufeffcontrollers:\n  GH-0001:\n    id: a\n`,
      /:5:1.*U\+FEFF \(a byte order mark\) stands here; delete it/,
    ],
    [
      "a character without width in a key",
      house("        ki\u200bnd: skylight\n        address: 101"),
      /U\+200B \(a character without width\)/,
    ],
    [
      "one at the end of a key of one's own",
      `${platform}controllers:\n  GH-0001\u200b:\n    id: a\n`,
      /U\+200B.*delete it, or put the key in "quotes"/,
    ],
    [
      "a no-break space at the end of a code",
      `${platform}controllers:\n  GH-0001\u00a0:\n    id: a\n`,
      /U\+00A0.*or put the key in "quotes"/,
    ],
    [
      "typographic quotes round a word",
      house("        kind: “skylight”\n        address: 101"),
      /:9:15.*kind: .*U\+201C \(a typographic quote\) stands here; write "/,
    ],
    [
      "corner brackets round a word",
      house("        kind: 「skylight」\n        address: 101"),
      /:9:15.*U\+300C/,
    ],
    [
      "a no-break space before a word",
      house("        kind: \u00a0skylight\n        address: 101"),
      /:9:15.*U\+00A0/,
    ],
    [
      "a soft hyphen in a word",
      house("        kind: sky\u00adlight\n        address: 101"),
      /:9:18.*U\+00AD \(a soft hyphen\)/,
    ],
    [
      "a mark of direction in a number",
      `${platform}polling:\n  sensors: 30\u200es\n`,
      /:6:14.*U\+200E \(a mark of writing direction\)/,
    ],
    [
      "a full-width number sign",
      `${platform}＃ a comment\n`,
      /:5:1.*U\+FF03 \(a full-width number sign\) stands here; write #/,
    ],
    [
      "full-width digits",
      `${platform}broker:\n  port: １８８３\n`,
      /:6:9.*U\+FF11 \(a full-width character\) stands here; write 1/,
    ],
    [
      "a full-width letter in a duration",
      `${platform}polling:\n  sensors: 30ｓ\n`,
      /:6:14.*U\+FF53 \(a full-width character\) stands here; write s/,
    ],
    [
      "the full stop of Chinese in a number",
      `${platform}controllers:\n  GH-0001:\n    sensors:\n      t: { scale: 0。1 }\n`,
      /U\+3002 \(an ideographic full stop\) stands here; write \./,
    ],
    [
      "a filler that looks like a blank",
      house("        kind: skylight\u3164\n        address: 101"),
      /:9:23.*U\+3164 \(another kind of blank\)/,
    ],
    [
      "a joiner of letters in a key",
      house("        ki\u034fnd: skylight\n        address: 101"),
      /U\+034F \(a character without width\) stands here; delete it/,
    ],
    [
      "a tag in a word",
      house("        kind: sky\u{e0041}light\n        address: 101"),
      /U\+E0041 \(a character without width\)/,
    ],
  ])("%s", async (_, text, said) => {
    const lines = await problemLines(text);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.some((line) => said.test(line)) ? "named" : lines.join("\n")).toBe("named");
  });

  it("what a comment or a text in quotes holds is blamed for nothing", () => {
    const text = 'a: "，：" # 注释：，\nb: [\n';
    expect(culprit(text, text.length)).toBeNull();
    expect(culprit("a: '：'\n- b\n", 9)).toBeNull();
  });
});

describe("in a name", () => {
  it("Chinese punctuation is what its owner wrote", async () => {
    for (const name of ["东棚，一号（北）：“试验”", "“东棚”", "東棟　１号", "「温室」"]) {
      const text = `${platform}controllers:\n  GH-0001:\n    name: ${name}\n`;
      expect(await warningLines(text)).toEqual([]);
      const { configuration } = await loaded(text);
      expect(configuration.controllers["GH-0001"]?.name).toBe(name);
    }
  });
});

describe("what is read although nobody can see it", () => {
  const withUser = (name: string) =>
    `${platform}mqtt:\n  url: mqtts://broker.example.com\n  username: ${name}\n`;

  it.each([
    ["greenhouse\u200b", ":7:23 mqtt.username: U+200B (a character without width) stands here"],
    ["\u00a0greenhouse", ":7:13 mqtt.username: U+00A0 (a no-break space) stands here"],
    ["green\u202ehouse", ":7:18 mqtt.username: U+202E (a mark of writing direction) stands here"],
  ])("%j is warned of", async (name, said) => {
    expect(await warningLines(withUser(name))).toEqual([expect.stringContaining(`config.yaml${said}`)]);
  });

  it.each(['"greenhouse\u200b"', "温室", "温室，一", "grün"])("%j is not", async (name) =>
    expect(await warningLines(withUser(name))).toEqual([]),
  );

  it("no secret is shown with it", async () => {
    const text = `${platform}mqtt:\n  url: mqtts://broker.example.com\n  username: a\n  password: !secret mqtt\n`;
    const lines = await warningLines(text, { secrets: "mqtt: hidden\u00a0word\n" });
    expect(lines.join("\n")).toContain("U+00A0");
    expect(lines.join("\n")).not.toContain("hidden");
  });
});

it("of ordinary texts nothing is odd", () => {
  const texts = ["skylight", "温室", "grün", "a-b_c: d, [e] {f} 'g' \"h\"\t", "\n\r", "Ω°%", "🌱"];
  expect(texts.flatMap((text) => [oddIn(text), strayIn(text)]).every((found) => found === null)).toBe(true);
});
