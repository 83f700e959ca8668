import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { mutants } from "./mutants.js";

const root = resolve(import.meta.dirname, "../..");

describe("a planted bug is noticed within 200 seeds", () => {
  it.each(Object.keys(mutants))("%s", (name) => {
    const { VITEST: _vitest, ...outer } = process.env;
    const env = {
      ...outer,
      MUTANT: name,
      SEEDS: "200",
      FROM: "1",
      SEED: "",
      FAILURES: "1",
      SIMULATION_FILES: "",
      SIMULATION_RUN: `${process.pid}-${name}`,
    };
    const config = ["run", "--config", "vitest.simulation.config.ts"];
    const run = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", ...config], {
      cwd: root,
      env,
      encoding: "utf8",
    });
    const noticed = /seed (\d+): ([A-Z]\d+): .*/.exec(run.stdout + run.stderr);
    expect(noticed, (run.stdout + run.stderr).slice(-2_000)).not.toBeNull();
    console.log(`${name}: ${noticed?.[0].slice(0, 160) ?? ""}`);
    expect(run.status).not.toBe(0);
  });
});
