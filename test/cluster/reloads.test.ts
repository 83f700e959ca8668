import { expect, it } from "vitest";
import { historyOf, troubleOf } from "./support/world.js";

/*
 * The histories of a cluster whose members are told to read their files again, once or twice at any moment, and where
 * the account's file is missing for a while. Runs a quarter of HISTORIES, FROM the first one.
 */

const count = Math.ceil(Number(process.env["HISTORIES"] ?? 20) / 4);
const from = Number(process.env["FROM"] ?? 1);

it(`in ${count} histories with SIGHUPs no account runs twice in a member or without a file, and all else holds as well`, async () => {
  const wrong: string[] = [];
  for (let seed = from; seed < from + count && wrong.length <= 5; seed += 1) {
    const { violations } = await historyOf(seed, { ...troubleOf(seed), reloadsPerMinute: 2 });
    for (const one of violations) wrong.push(`seed ${seed}: ${one}`);
  }
  expect(wrong).toEqual([]);
});
