import { expect } from "vitest";
import { service } from "../notify/servers.js";
import { houseOf } from "./support/house.js";
import { it, running } from "./support/staged.js";
import { fields } from "./support/watch.js";

/* A storm that is longer than a run: what a guard moved, and when it let go, as messages. */

const quick = { settle: "100ms", confirm_within: "3s", travel_time: "200ms" };
const wind = { sensor: "weather/wind", above: 12, clear_at: 9, clear_after: "1s", allow: ["close"] };
const roof = { kind: "skylight", address: "101", ...quick };

it(
  "people hear of a guard what it moved before a restart, and that it lets go after one",
  { timeout: 240_000 },
  async ({ stage }) => {
    const phone = await service();
    const more = {
      commands: { min_interval: "0s" },
      weather: { wind: { topic: "weather/wind", field: "speed", unit: "m/s", stale_after: "60s" } },
      notify: { ways: { phone: { events: ["guards"], ntfy: { url: phone.url, topic: "storm" } } } },
      controllers: {
        "GH-0001": {
          actuators: { roof: { ...roof, limits: { guards: { wind: { ...wind, then: "close" } } } } },
        },
      },
    };
    const { platform, watch, bridge, run } = await running(stage, more);
    const house = houseOf("GH-0001", { platform, watch });
    const words = () => JSON.stringify(fields(house.latest("roof", "allowed"))["words"]);
    const titles = () => phone.got.map(({ body }) => (body as { title: string }).title);
    const blow = (speed: number) => watch.publish("weather/wind", JSON.stringify({ speed }));

    await blow(3);
    await watch.untilTrue(() => words().includes("open"), "calm", 60_000);
    await house.command("roof", "open");
    await blow(14);
    await watch.untilTrue(
      () => house.results("roof").some(({ by, outcome }) => by === "rule wind" && outcome === "confirmed"),
      "the guard has closed it",
      60_000,
    );
    // Half a minute is not over: the message is of the next run.
    await bridge.end("SIGTERM");
    expect(titles()).toEqual([]);
    const second = await run(more);
    await expect
      .poll(titles, { timeout: 60_000 })
      .toEqual([expect.stringMatching(/^Wind 14 m\/s: .*roof closed$/)]);

    await second.end("SIGTERM");
    await run(more);
    const calm = setInterval(() => void blow(3), 1_000);
    await watch.untilTrue(() => words().includes("open"), "calm again", 60_000);
    clearInterval(calm);
    await expect.poll(titles, { timeout: 90_000 }).toHaveLength(2);
    expect(titles()[1]).toMatch(/^Wind over: .*roof free again$/);
  },
);
