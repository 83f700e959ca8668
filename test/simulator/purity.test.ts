import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../../src/simulator");

/** Every module a file pulls in at run time, directly or through others. */
function reached(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const text = readFileSync(file, "utf8");
  for (const [, clause = "", path = ""] of text.matchAll(/^(?:import|export) ([^;]*?)from "([^"]+)";/gm)) {
    if (clause.startsWith("type ")) continue;
    if (path.startsWith(".")) reached(join(dirname(file), path.replace(/\.js$/, ".ts")), seen);
    else seen.add(path);
  }
  return seen;
}

const outside = (file: string) => [...reached(join(folder, file))].filter((path) => !path.startsWith("/"));

describe("the platform itself", () => {
  it.each(["respond.ts", "control.ts", "faults.ts", "printable-configuration.ts"])(
    "%s pulls in nothing of Node and no package, so a simulation on virtual time can run it",
    (file) => expect(outside(file)).toEqual([]),
  );

  it("is told apart from the server, which does", () =>
    expect(outside("simulator.ts")).toEqual(expect.arrayContaining(["node:http", "ws"])));
});
