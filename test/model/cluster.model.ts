import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { tellFigures } from "../proof/figures.js";

/* Spin visits every state of cluster.pml; .ci/model-check has the bounds, the states to be reached and the planted mistakes. */

it("no history of the model of a cluster breaks a rule, and each planted mistake is found", async () => {
  const script = fileURLToPath(new URL("../../.ci/model-check", import.meta.url));
  const output = execFileSync("bash", [script], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  const rows = output
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) => line.split("|").map((cell) => cell.trim()));
  const figures = rows.flatMap(([, what = "", found = "", states = ""]) =>
    found === "" || found === "result" ? [] : [[`${what}, ${found}`, states] as const],
  );
  await tellFigures("model", false, Object.fromEntries(figures));
  expect(output).not.toContain("FAILED");
});
