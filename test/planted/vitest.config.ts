import { resolve } from "node:path";
import { defineConfig, mergeConfig } from "vitest/config";
import unit from "../../vitest.config.js";
import { type Planted, planted, seamFile } from "./plant.mjs";

/* The unit tests on sources in which one bug is planted: PLANTED names its seam and what is planted there. */

const root = resolve(import.meta.dirname, "../..");
const bug = JSON.parse(process.env["PLANTED"] ?? "null") as Planted | null;
const seam = bug === null ? null : resolve(root, "src", `${seamFile(bug)}.ts`);

export default mergeConfig(
  unit,
  defineConfig({
    root,
    plugins: [
      {
        name: "planted",
        enforce: "post",
        transform: (text: string, file: string) =>
          bug !== null && file === seam ? { code: planted(text, bug), map: null } : null,
      },
    ],
  }),
);
