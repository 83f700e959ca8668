import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import { describe, expect, it } from "vitest";
import { plainProfileNames, profileNames, profiles } from "../../src/simulator/dialects.js";

/*
 * What the interface document leaves open, one line each, and what every profile makes of it. The end-to-end suites of
 * the mirror and the commands run under all of them, so a line in which all agreed would be a shape nobody tries.
 */

const file = fileURLToPath(new URL("../../docs/inside/simulator.md", import.meta.url));

/** Every leaf of a dialect by its path. */
function leaves(part: object, path = ""): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(part).flatMap(([key, value]: [string, unknown]): [string, string][] =>
      typeof value === "object" && value !== null
        ? [...leaves(value, `${path}${key}.`)]
        : [[path + key, String(value)]],
    ),
  );
}

/** How a reader would put each of them. */
const questions: Readonly<Record<string, string>> = {
  sensorLayout: "where sensor items are",
  "sensorFields.name": "name field of a sensor",
  "sensorFields.value": "value field of a sensor",
  "sensorFields.unit": "unit field of a sensor",
  "sensorFields.factor": "code field of a sensor",
  "sensorFields.channel": "channel field of a sensor",
  readings: "a reading",
  sensorNames: "names of sensors",
  times: "`dateTime`",
  gaps: "a sensor without a reading",
  registers: "a register's value",
  unknownAddress: "an unknown address",
  groupLayout: "where flushed items are",
  inType: "addresses of a type",
  statusLayout: "where running statuses are",
  statuses: "a running status",
  setAnswer: "echo of a POST",
  signIn: "sign-in answer",
  listLayout: "where items of lists are",
  extension: "extension fields of lists, login in a stream's address",
  streams: "which lists hold the addresses of streams",
  everything: "stations and cameras among the controllers",
  sensorQuery: "query of sensor data",
  numbers: "numbers of the envelope",
  extras: "unasked fields",
  errorStatus: "HTTP status of errors",
  errorMessage: "message of errors",
  push: "push frames",
  clients: "devices with an MQTT client",
  pestMonitor: "a pest monitor gives",
  offlinePost: "POST to an offline device",
  positionReads: "a travelling window reads",
  lightWants: "the light wants `1010`",
};

/** The interface shows it. */
const documented = ["sensorFields.time"];
/** What only `odd` does another way: a question nobody can find out by looking at an answer. */
const onlyToldByConfiguration = ["sensorQuery"];

const dimensions = [...leaves(profiles.default).keys()].filter((path) => !documented.includes(path));
const shown = (name: (typeof profileNames)[number], path: string) => leaves(profiles[name]).get(path) ?? "";

/** A field that is not there is a dash. */
const cell = (name: (typeof profileNames)[number], path: string) =>
  path.startsWith("sensorFields.") ? shown(name, path).replace("null", "—") : shown(name, path);

describe("the profiles", () => {
  it("are at least six that need no configuration", () =>
    expect(plainProfileNames.length).toBeGreaterThanOrEqual(6));

  it.each(dimensions)("differ in %s, which the interface does not show", (path) => {
    const names = onlyToldByConfiguration.includes(path) ? profileNames : plainProfileNames;
    expect(new Set(names.map((name) => shown(name, path))).size).toBeGreaterThanOrEqual(2);
    expect(questions).toHaveProperty([path]);
  });

  it("stand in docs/inside/simulator.md with every shape they differ in (UPDATE_DIALECTS=1 writes it)", async () => {
    const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
    const table = [
      row(["what is open", ...profileNames.map((name) => `\`${name}\``)]),
      row(["---", ...profileNames.map(() => "---")]),
      ...dimensions.map((path) =>
        row([questions[path] ?? path, ...profileNames.map((name) => cell(name, path))]),
      ),
    ].join("\n");
    const [start, end] = ["<!-- dialects -->", "<!-- end of dialects -->"];
    const text = await readFile(file, "utf8");
    const [before = "", rest = ""] = text.split(start);
    const written = await format(`${before}${start}\n\n${table}\n\n${end}${rest.split(end)[1] ?? ""}`, {
      ...(await resolveConfig(file)),
      parser: "markdown",
    });
    if (process.env["UPDATE_DIALECTS"] === "1") await writeFile(file, written);
    expect(await readFile(file, "utf8")).toBe(written);
  });
});
