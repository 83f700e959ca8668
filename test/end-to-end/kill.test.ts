import { describe, expect, it } from "vitest";
import { tellFigures } from "../proof/figures.js";
import { type Kill, killRig, type Step, steps } from "./support/kill-rig.js";
import { createStage } from "./support/stage.js";

/*
 * kill -9 of the built program at each step of a command's path, with real files, a real Mosquitto and real HTTP. After the
 * restart nothing is sent for the old command; once it was journaled it gets exactly one outcome, and that outcome agrees
 * with what the platform really holds. KILL_RUNS says how many kills (2 at each step without it).
 */

const runs = Number(process.env["KILL_RUNS"] ?? steps.length * 2);
const rigsAtOnce = Math.min(4, runs);

describe("kill -9", () =>
  it(
    `at every step leaves no command sent again and none without its one truthful outcome (${runs} kills)`,
    async () => {
      const startedAt = performance.now();
      const plan = Array.from({ length: runs }, (_, run) => run);
      const kills: Kill[] = [];
      const wrong: string[] = [];
      const work = async () => {
        const stage = await createStage();
        try {
          const rig = await killRig(stage);
          for (let run = plan.shift(); run !== undefined; run = plan.shift()) {
            const kill = await rig.kill(stepOf(run), run);
            kills.push(kill);
            wrong.push(...faultsOf(kill).map((what) => `${kill.sought.id}, killed ${kill.step}: ${what}`));
          }
          wrong.push(...(await rig.faultsOfJournal()));
        } finally {
          await stage.clear();
        }
      };
      await Promise.all(Array.from({ length: rigsAtOnce }, work));
      await report(kills, wrong, (performance.now() - startedAt) / 1_000);
      expect(wrong).toEqual([]);
      expect(kills).toHaveLength(runs);
    },
    120_000 + runs * 15_000,
  ));

const stepOf = (run: number): Step => steps[run % steps.length] ?? "any moment";

/** What is untrue about a kill's aftermath. */
function faultsOf({ journaled, results, postsAfter, sought, register, effects }: Kill): readonly string[] {
  const wrong: string[] = [];
  if (postsAfter.length > 0) wrong.push(`POSTs after the kill: ${postsAfter.join(", ")}`);
  const outcomes = new Set(results.map(({ outcome }) => String(outcome)));
  if (outcomes.size > 1 || (journaled && outcomes.size === 0))
    wrong.push(`outcomes: ${[...outcomes].join(", ") || "none"}`);
  if (results.filter(({ repeated }) => repeated === false).length > 1) wrong.push("told twice as new");
  const facts = `the register holds ${register}, POSTs were ${effects.join(", ")}`;
  if (!journaled && effects.length > 0) wrong.push(`sent before it was journaled: ${facts}`);
  const shows = register === sought.value;
  for (const outcome of outcomes) {
    const isTrue =
      (outcome === "confirmed" && shows) ||
      (["failed", "unconfirmed"].includes(outcome) && !shows) ||
      (outcome === "refused" && effects.length === 0);
    if (!isTrue) wrong.push(`${outcome}, but ${facts}`);
  }
  return wrong;
}

async function report(kills: readonly Kill[], wrong: readonly string[], seconds: number): Promise<void> {
  console.table(
    steps.map((step) => {
      const ofStep = kills.filter((kill) => kill.step === step);
      const outcomes = ofStep.map(({ results: [first] }) =>
        first === undefined ? "none, never journaled" : String(first["outcome"]),
      );
      return {
        step,
        kills: ofStep.length,
        journaled: ofStep.filter(({ journaled }) => journaled).length,
        "POSTs after the restart": ofStep.flatMap(({ postsAfter }) => postsAfter).length,
        outcomes: [...new Set(outcomes)]
          .map((one) => `${one} ${outcomes.filter((other) => other === one).length}`)
          .join(", "),
      };
    }),
  );
  const figures = { kills: kills.length, seconds: Math.round(seconds), wrong: wrong.length };
  await tellFigures("kill", runs < 200, figures);
}
