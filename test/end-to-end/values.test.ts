import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import { describe, expect, it } from "vitest";
import { kindRows, type KindRow } from "../../src/greenhouse/actuator-kinds.js";
import { type House, houseOf, type Result } from "./support/house.js";
import { whileRuns } from "./support/program.js";
import { configurationFor, createStage, mosquittoSection } from "./support/stage.js";
import { until } from "./support/watch.js";

/*
 * docs/inside/values.md: every value of every kind of the interface document, sent through a real Mosquitto, taken by the
 * simulated platform and read back. The table is made by sending; UPDATE_VALUES=1 writes the file.
 */

const file = fileURLToPath(new URL("../../docs/inside/values.md", import.meta.url));
const code = "GH-0001";

/** Where each kind is tried: an address of the simulated greenhouse that takes the kind's values. */
const places: Readonly<Record<keyof typeof kindRows, string>> = {
  ...{ skylight: "101", shade_curtain: "102", thermal_curtain: "107", side_vent: "104", positioner: "103" },
  ...{ circulation_fan: "150", co2_supply: "310", heating_blower: "320", mist_cooling: "330" },
  // Kinds with the same values take turns at the same addresses, each under a bridge of its own.
  ...{ uv_disinfection: "150", mist_humidifier: "310", humidity_control: "320", hot_air_blower: "330" },
  ...{ machine: "150", fan_wet_curtain: "140", irrigation: "210", light: "220", motor: "300", custom: "400" },
};

/** What the configuration of the examples gives the kinds without values of their own. */
const configured: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  motor: { open: "00000001", close: "00000010" },
  custom: { low: "0110", high: "1001" },
};

interface Row {
  readonly kind: string;
  readonly command: string;
  readonly value: string;
  readonly sent: string;
  readonly readBack: string;
  readonly state: string;
  readonly outcome: string;
}

const commandsOf = (kind: keyof typeof kindRows): readonly string[] => {
  const row: KindRow = kindRows[kind];
  const words = Object.keys({ ...configured[kind], ...row.values });
  return row.positionMode === null ? words : [...words, "0", "45", "100"];
};

async function send(house: House, kind: keyof typeof kindRows, command: string): Promise<Row> {
  // `force`: a value that stands already is sent and confirmed as well.
  const result: Result = await house.command(kind, { command, id: `${kind} ${command}`, force: true });
  const steps = result["steps"] as readonly Readonly<Record<string, string>>[];
  const state = house.latest(kind, "state");
  const position = house.latest(kind, "position");
  return {
    ...{ kind, command, value: String(result["value"]) },
    sent: steps.map(({ value }) => `\`${value ?? ""}\``).join(", then "),
    readBack: String(result["read_back"]),
    state: position === "" ? state : `${state}, ${position} %`,
    outcome: String(result["outcome"]),
  };
}

/** Kinds in groups whose addresses do not meet: one bridge each. */
function groups(): readonly (readonly (keyof typeof kindRows)[])[] {
  const found: (keyof typeof kindRows)[][] = [];
  for (const kind of Object.keys(places) as (keyof typeof kindRows)[]) {
    const group = found.find((one) => one.every((other) => places[other] !== places[kind]));
    if (group) group.push(kind);
    else found.push([kind]);
  }
  return found;
}

async function rowsOf(kinds: readonly (keyof typeof kindRows)[]): Promise<readonly Row[]> {
  const stage = await createStage();
  try {
    const platform = await stage.platform({ controllers: 1 });
    const broker = await stage.mosquitto();
    const watch = await stage.watch({ url: broker.url, protocolVersion: 5 });
    const actuators = Object.fromEntries(
      kinds.map((kind) => [
        kind,
        {
          ...{ kind, address: places[kind], settle: "100ms", confirm_within: "20s", min_interval: "0s" },
          ...(configured[kind] ? { values: configured[kind] } : {}),
        },
      ]),
    );
    const bridge = await stage.bridge(
      configurationFor(platform.url, mosquittoSection(broker.url), {
        ...{ mirror: "listed", controllers: { [code]: { actuators } } },
      }),
    );
    await whileRuns(bridge, until(watch, "greenhouse/bridge/state", "online", 60_000));
    const house = houseOf(code, { platform, watch });
    // One kind after the other would take long, and one actuator's commands must not meet.
    const rows = await Promise.all(
      kinds.map(async (kind) => {
        const ofKind: Row[] = [];
        for (const command of commandsOf(kind)) ofKind.push(await send(house, kind, command));
        return ofKind;
      }),
    );
    return rows.flat();
  } finally {
    await stage.clear();
  }
}

const heading = `# Every value, sent and confirmed

Made by a test (\`test/end-to-end/values.test.ts\`), not by hand: each line is one command that went through a Mosquitto to
the bridge, was POSTed to the simulated platform and was read back. \`motor\` and \`custom\` stand here with example values.
A degree is any whole number from 0 to 100; three are shown. "Sent" are all values POSTed for the command, each after the
one before was read back; "read back" is what the register showed in the end; the state is what the topic \`…/state\` says
then, with the degree of \`…/position\`.

`;

const markdown = (rows: readonly Row[]): Promise<string> => {
  const lines = rows.map(
    ({ kind, command, value, sent, readBack, state, outcome }) =>
      `| \`${kind}\` | \`${command}\` | \`${value}\` | ${sent} | \`${readBack}\` | ${state} | ${outcome} |`,
  );
  const table = [
    "| kind | command | value | sent | read back | state | outcome |",
    "| --- | --- | --- | --- | --- | --- | --- |",
  ];
  return format(`${heading}${[...table, ...lines].join("\n")}\n`, { parser: "markdown" });
};

describe("docs/inside/values.md", () =>
  it("holds every value of every kind as it was sent through Mosquitto and confirmed (UPDATE_VALUES=1 writes it)", async () => {
    const kinds = Object.keys(kindRows);
    expect(Object.keys(places).sort()).toEqual([...kinds].sort());
    const rows = (await Promise.all(groups().map(rowsOf))).flat();
    const inOrder = rows.toSorted((one, other) => kinds.indexOf(one.kind) - kinds.indexOf(other.kind));
    expect(inOrder.filter(({ outcome }) => outcome !== "confirmed")).toEqual([]);
    const text = await markdown(inOrder);
    if (process.env["UPDATE_VALUES"] === "1") await writeFile(file, text);
    expect(await readFile(file, "utf8")).toBe(text);
  }, 120_000));
