import { describe, expect, it } from "vitest";
import { effectiveLines, textOf } from "./support/project.js";

/** Fields that the table of topics promises for a JSON topic. */
async function fieldsOf(topic: string): Promise<readonly string[]> {
  const line =
    (await textOf("docs/topics.md")).split("\n").find((one) => one.startsWith(`| \`${topic}\``)) ?? "";
  return /`\{([^}]*)\}`/.exec(line)?.[1]?.split(/[,\s]+/) ?? [];
}

interface Consumer {
  readonly topic: string;
  readonly named: readonly string[];
}

/** Each consumer's topic, and the fields of the message that it names. */
async function consumers(): Promise<readonly Consumer[]> {
  const text = effectiveLines(await textOf("deploy/telegraf/telegraf.conf")).join("\n");
  return text
    .split("[[inputs.mqtt_consumer]]")
    .slice(1)
    .map((part) => ({
      topic: /^topics = \["([^"]*)"\]$/m.exec(part)?.[1] ?? "",
      named: [...part.matchAll(/^(?:tag_keys|json_string_fields|json_time_key|fieldpass) = (.*)$/gm)].flatMap(
        ([, names = ""]) => [...names.matchAll(/"([^"]*)"/g)].map(([, name = ""]) => name),
      ),
    }));
}

describe("the Telegraf example", () => {
  it.each([
    ["greenhouse/+/sensor/+/json", "<base>/<c>/sensor/<s>/json"],
    ["greenhouse/+/actuator/+/json", "<base>/<c>/actuator/<a>/json"],
  ])("takes from %s only fields that the message has", async (topic, documented) => {
    const consumer = (await consumers()).find((one) => one.topic === topic);
    const fields = await fieldsOf(documented);
    expect(consumer?.named.length).toBeGreaterThan(0);
    expect(fields.length).toBeGreaterThan(0);
    expect(consumer?.named.filter((name) => !fields.includes(name))).toEqual([]);
  });

  it("stamps readings with the time of the measurement, so that a retained one makes no new point", async () => {
    const [readings] = await consumers();
    expect(readings).toMatchObject({ topic: "greenhouse/+/sensor/+/json" });
    expect(readings?.named).toContain("measured_at");
  });
});
