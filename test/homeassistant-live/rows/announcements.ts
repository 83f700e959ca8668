import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Installation } from "../support/process.js";
import { registered, type World } from "../support/world.js";
import type { Rows } from "../support/rows.js";

/* What is announced is taken, whole. */

const goldenFolder = new URL("../../homeassistant/golden/", import.meta.url);

const golden = (): readonly string[] =>
  readdirSync(goldenFolder).map((name) => readFileSync(new URL(name, goldenFolder), "utf8"));

/** What Home Assistant's own schemas say against messages, and how many components they looked at. */
async function schemaFaults({ python }: Installation, folder: string, messages: readonly string[]) {
  const script = new URL("../support/schema.py", import.meta.url);
  const output = await new Promise<string>((resolve, reject) => {
    const child = execFile(python, ["-c", readFileSync(script, "utf8"), folder], (error, stdout, stderr) => {
      if (error) reject(new Error(stderr));
      else resolve(stdout);
    });
    child.stdin?.end(messages.map((text) => `${JSON.stringify(JSON.parse(text))}\n`).join(""));
  });
  const lines = output.trim().split("\n");
  const components = Number(lines.pop()?.replace("checked ", ""));
  return { faults: lines, components };
}

export function announcements(installation: Installation, world: () => World, rows: Rows): void {
  it("its own schemas take every golden and every live message", async () => {
    const { watch, folder } = world();
    const live = [...watch.current(/^homeassistant\/device\/[^/]+\/config$/).values()];
    const messages = [...golden(), ...live];
    const { faults, components } = await schemaFaults(installation, folder, messages);
    rows.tell(
      "schema check",
      `${messages.length} messages, ${components} components, ${faults.length} refused`,
    );
    expect(faults).toEqual([]);
    expect(components).toBeGreaterThan(200);
  });

  it("every entity that is announced is created, enabled or not as announced, and its log is clean", async () => {
    const one = world();
    const total = await one.untilComplete();
    const entries = (await one.ha.registry()).filter(({ platform }) => platform === "mqtt");
    const there = await registered(one);
    const disabled = entries.filter(({ disabled_by: by }) => by !== null).length;
    const announcedDisabled = [...one.announced().values()].filter((c) => c["enabled_by_default"] === false);
    rows.tell("announced = created", `${total} = ${there.size}, ${disabled} disabled`);
    expect(disabled).toBe(announcedDisabled.length);
    await one.ha.until("no enabled entity is unavailable", () => unavailable(one).length === 0);
    expect(one.trouble()).toEqual([]);
  });
}

/** Enabled entities of ours that show `unavailable`. */
export const unavailable = ({ ha }: World): readonly string[] =>
  ha
    .states()
    .filter(({ state }) => state === "unavailable")
    .map(({ entity_id: id }) => id);
