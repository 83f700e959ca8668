import { expect } from "vitest";
import { service } from "../notify/servers.js";
import { it, running } from "./support/staged.js";
import { fields } from "./support/watch.js";

/* A night of frost, from the platform's reading to the message on a phone. */

const low = "greenhouse/alarm/reading_low.gh-0001.airtemp";

it(
  "a reading below its limit is an alarm on its topic, worse in its place, kept over a kill, and a message each",
  { timeout: 240_000 },
  async ({ stage }) => {
    const phone = await service();
    const more = {
      controllers: {
        "GH-0001": {
          sensors: { airtemp: { from: "airtemp", alarm: { low_low: 2, low: 5, deadband: 1, delay: "1s" } } },
        },
      },
      notify: { ways: { phone: { ntfy: { url: phone.url, topic: "frost" } } } },
    };
    const { platform, watch, bridge, run } = await running(stage, more);
    const messages = () => phone.got.map(({ body }) => fields(JSON.stringify(body)));
    const untilTold = (words: RegExp) =>
      expect
        .poll(
          () =>
            messages()
              .map(({ title, message }) => `${String(title)} | ${String(message)}`)
              .join("\n"),
          {
            timeout: 60_000,
          },
        )
        .toMatch(words);
    const cold = (value: number) =>
      platform.tell("set_sensor", { controller: "GH-0001", sensor: "airtemp", value });

    await cold(4.2);
    await watch.untilTrue(
      () => fields(watch.latest(low) ?? "{}")["severity"] === "warning",
      "a warning",
      60_000,
    );
    expect(fields(watch.latest(low) ?? "{}")).toMatchObject({
      ...{ id: "reading_low.gh-0001.airtemp", type: "reading_low", state: "active" },
      ...{ controller: "gh-0001", actuator: null, sensor: "airtemp" },
      message: expect.stringContaining("4.2 °C, below 5 °C.") as unknown,
    });
    await untilTold(/Too low \| .*is 4\.2 °C, below 5 °C\./);
    expect(fields(watch.latest("greenhouse/gh-0001/reading_alarms") ?? "{}")).toMatchObject({
      count: 1,
      readings: [{ sensor: "airtemp", limit: "low" }],
    });

    await cold(1.5);
    await watch.untilTrue(
      () => fields(watch.latest(low) ?? "{}")["severity"] === "error",
      "an error",
      60_000,
    );
    await untilTold(/is 1\.5 °C, below 2 °C\./);
    const told = messages().length;

    await bridge.end("SIGKILL");
    await run(more);
    await watch.untilTrue(
      () =>
        fields(watch.latest(low) ?? "{}")
          ["message"]?.toString()
          .startsWith("Before the restart") === false,
      "judged anew",
      60_000,
    );
    expect(fields(watch.latest(low) ?? "{}")).toMatchObject({ state: "active", severity: "error" });

    await cold(12);
    await watch.untilTrue(() => fields(watch.latest(low) ?? "{}")["state"] === "cleared", "over", 60_000);
    // The kill has repeated nothing, and that it is over waits for the pause between two messages about one alarm.
    expect(messages().length).toBe(told);
  },
);

interface Told {
  readonly title: string;
  readonly message: string;
  readonly priority: number;
}

it(
  "the frost night of the demo ends on a phone: few greenhouses are one message, many one flood with the worst first",
  { timeout: 240_000 },
  async ({ stage }) => {
    const [few, many] = [await service(), await service()];
    const demoOf = ({ url }: { readonly url: string }, controllers: number) =>
      stage.program([
        ...["demo", "--frost", "--controllers", String(controllers), "--speed", "480"],
        ...["--ntfy", `${url}/farm`],
      ]);
    const nights = [demoOf(few, 3)];
    // Each looks for free ports at its start.
    await nights[0]?.untilPrinted(/A clear evening/, 60_000);
    nights.push(demoOf(many, 24));
    const toldOf = ({ got }: { readonly got: readonly { readonly body: unknown }[] }) =>
      got.map(({ body }) => body as Told);
    for (const night of nights) await night.untilPrinted(/The frost night is over/, 200_000);
    for (const night of nights) expect(night.stdout).not.toContain("not seen in time");

    const [first] = toldOf(few);
    expect(first).toMatchObject({ topic: "farm" });
    expect(first?.message).toMatch(/Air temperature is \d\.\d °C, below [56] °C\./);
    // Outdoors it is below zero, which no limit of the crop is about.
    expect(JSON.stringify([toldOf(few), toldOf(many)])).not.toMatch(/Outdoor|Weather station/);
    expect(first?.message.match(/Check heating/g)).toHaveLength(1);

    await expect
      .poll(() => toldOf(many).filter(({ title }) => /^\d\d alarms/.test(title)), { timeout: 60_000 })
      .toHaveLength(1);
    const flood = toldOf(many).find(({ title }) => /^\d\d alarms/.test(title));
    expect(flood).toMatchObject({ priority: 5 });
    const lines = flood?.message.split("\n").filter((line) => line.startsWith("•")) ?? [];
    expect(lines).toHaveLength(8);
    expect(lines.map((line) => line.includes("below 5 °C"))).toEqual(
      lines.map((line) => line.includes("below 5 °C")).toSorted((one, other) => Number(other) - Number(one)),
    );
    expect(flood?.message).toContain("one message stands for all");
    for (const night of nights) expect(await night.end("SIGINT")).toMatchObject({ code: 0 });
  },
);
