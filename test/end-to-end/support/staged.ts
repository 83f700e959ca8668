import { expect, it as plain } from "vitest";
import { createStage, type Stage } from "./stage.js";

/** A test with a stage of its own, at whose end no output and no topic may have shown a planted secret. */
export const it = plain.extend<{ readonly stage: Stage }>({
  // vitest reads the names a fixture needs from this pattern.
  stage: async ({}, use) => {
    const stage = await createStage();
    await use(stage);
    const leaks = await stage.leaks();
    await stage.clear();
    expect(leaks, "planted secrets in outputs and topics").toEqual([]);
  },
});
