import { describe, expect, it } from "vitest";
import { addressChecks } from "../../../src/setup/doctor/address-checks.js";
import { type DoctorContext, defaultLimits } from "../../../src/setup/doctor/context.js";
import { meaningChecks } from "../../../src/setup/doctor/meaning-checks.js";
import { loaded, platform as platformSection } from "../../config/loading.js";
import { platformError } from "../../support/scripted-platform.js";
import { VirtualClock } from "../../support/virtual-clock.js";

const configuration = `${platformSection}mqtt: { url: "mqtt://broker" }
controllers:
  GH-1:
    actuators:
      bad: { kind: circulation_fan, address: "150", type_id: 8 }
      good: { kind: circulation_fan, address: "151", type_id: 4 }
  GH-2:
    actuators:
      fan: { kind: circulation_fan, address: "150" }
`;

/** What a check finds where all is well but for what is refused. */
async function finding(id: string, refuses: (question: string) => boolean, kind: "rejected" | "timeout") {
  const answer = <T>(question: string, given: T) =>
    refuses(question) ? Promise.reject(platformError({ kind, code: "500" })) : Promise.resolve(given);
  const clock = new VirtualClock();
  const controllers = [
    { code: "GH-1", online: true, type: "A" },
    { code: "GH-2", online: true, type: "B" },
    { code: "W-1", online: true, type: "W1" },
    { code: "W-2", online: true, type: "W1" },
  ];
  const context = {
    configuration: (await loaded(configuration)).configuration,
    ports: { clock },
    limits: { ...defaultLimits, frameMs: 0 },
    evidence: { controllers, devices: [] },
    platform: {
      value: (code: string, address: string) => answer(`value ${code}/${address}`, "00000001"),
      values: (code: string, group: unknown) =>
        answer(
          `values ${code}/${JSON.stringify(group)}`,
          new Map([
            ["150", "00000001"],
            ["151", "00000001"],
          ]),
        ),
      connection: (code: string) =>
        answer(`connection ${code}`, { state: "online", version: "2", description: null }),
      runningStatuses: (code: string) => answer(`statuses ${code}`, []),
      sensors: (code: string) => answer(`sensors ${code}`, []),
    },
  } as unknown as DoctorContext;
  const check = [...addressChecks, ...meaningChecks].find((one) => one.id === id);
  const running = check?.run(context, new AbortController().signal);
  running?.catch(() => undefined);
  await clock.advance(1_000);
  const { status, summary } = (await running) ?? {};
  return `${String(status)}: ${String(summary)}`;
}

describe("a line about several things", () =>
  it.each([
    ["values", "value GH-1/150", "bad (150) of GH-1"],
    ["fresh_reads", "value GH-1/150", "bad (150) of GH-1"],
    ["both_reads", "value GH-1/150", "bad (150) of GH-1"],
    ["both_reads", "values GH-1", "of GH-1"],
    ["addresses", "values GH-1", "of GH-1"],
    ["statuses", "statuses GH-1", "GH-1"],
    ["twins", "sensors GH-1", "GH-1"],
    ["interface", "connection GH-1", "GH-1"],
    ["types", "connection W-1", "W-1"],
  ])("%s names the one that is refused (%s), and looks at the others", async (id, refused, named) => {
    const asked: string[] = [];
    const refuses = (question: string) => {
      asked.push(question);
      return question.startsWith(refused);
    };
    const found = await finding(id, refuses, "rejected");
    expect(found).toMatch(/^warning: /);
    expect(found).toContain(`${named}: `);
    expect(found).toContain("the platform did not do it");
    expect(asked.findIndex((one) => one.startsWith(refused))).toBeLessThan(asked.length - 1);
  }));

it("an error that is none of one address is not taken for one", async () => {
  await expect(finding("values", () => true, "timeout")).rejects.toThrow();
});
