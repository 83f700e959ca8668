import { describe, expect, it } from "vitest";
import { tellFigures } from "../proof/figures.js";
import { type Kill, killRig, type Step, steps } from "./support/kill-rig.js";
import { createStage } from "./support/stage.js";

/*
 * kill -9 of the built program at each step of a command's path, with real files, a real Mosquitto and real HTTP. After the
 * restart nothing is sent for the old command; once it was journaled it gets exactly one outcome, and that outcome agrees
 * with what the platform really holds: all of it is judged at the end (test/judge). KILL_RUNS says how many kills (2 at each step without it).
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
            kills.push(await rig.kill(stepOf(run), run));
          }
          wrong.push(...(await rig.brokenRules()));
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
