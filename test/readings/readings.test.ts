import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { installed } from "./installed.js";
import type { Section } from "./played.js";
import { code, type Row, rows } from "./rows.js";

const page = "docs/inside/readings.md";

function tableOf(all: typeof rows): string {
  const cells = Object.entries(all).map(([id, { may, without, named, having }]) => [
    ...[id, may, without, named, having],
  ]);
  const head = ["#", "the words may mean", "without a setting", "who names it", "with it"];
  const width = head.map((_, at) => Math.max(...[head, ...cells].map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, at) => cell.padEnd(width[at] ?? 0)).join(" | ")} |`;
  return [line(head), line(width.map((length) => "-".repeat(length))), ...cells.map(line)].join("\n");
}

const left = "<!-- rows -->\n\n";
const right = "\n\n<!-- end of rows -->";

it("the table of the documents is that of what is played here", () => {
  const text = readFileSync(page, "utf8");
  const [before = "", rest = ""] = text.split(left);
  const [, after = ""] = rest.split(right);
  const wanted = `${before}${left}${tableOf(rows)}${right}${after}`;
  if (process.env["UPDATE_READINGS"] !== undefined) writeFileSync(page, wanted);
  else expect(text).toBe(wanted);
});

/** What the file of the second house says beside that of the first. */
function settingsOf({ settings = {} }: Row): Section {
  const { actuators = {}, file = {} } = settings;
  return { ...file, ...(Object.keys(actuators).length > 0 && { controllers: { [code]: { actuators } } }) };
}

const played = Object.entries(rows).filter(([, { playsWithout }]) => playsWithout !== undefined);

/** Texts in lists, and numbers under keys. */
const profiles = ["default", "keyed"] as const;

describe.each(profiles)("on a platform that speaks %s", (profile) => {
  it.each(played)("%s without its setting, and with it", async (_, row) => {
    const { reading, options = {}, both = {}, playsWithout, playsWith } = row;
    const platform = { profile, ...options, ...(reading !== null && { readings: [reading] }) };
    for (const [plays, ...sections] of [
      [playsWithout, both],
      [playsWith, both, settingsOf(row)],
    ] as const) {
      if (plays === undefined) continue;
      const house = await installed(platform, code, ...sections);
      await plays(house);
      await house.bridge.end();
    }
  });
});
