import { describe, expect, it } from "vitest";
import type { PushChannel, PushNews } from "../../../src/greenhouse/ports.js";
import { frameDecoder } from "../../../src/platform/push/frames.js";
import type { ShapeSettings } from "../../../src/platform/settings.js";
import { type ProfileName, profileNames } from "../../../src/simulator/dialects.js";
import { PushFeed } from "../../../src/simulator/push-feed.js";
import { Asking, minuteMs } from "../../simulator/asking.js";
import { framing } from "../support/decoding.js";

const code = "GH-0001";
const everybody = { statuses: true, stations: new Set(["WS-0001"]) };
const channels = {
  "set-value": { type: "set-value" },
  "device-status": { type: "device-status" },
  "weather-station-data": { type: "weather-station", code: "WS-0001" },
} as const satisfies Record<string, PushChannel>;
const odd: ShapeSettings = {
  "sensor-data": { items: "payload.points", name: "what", value: "now", unit: "scale", time: "dateTime" },
};

/** What is made of the frames of an opened skylight, a started fan, a lost controller and a new weather sample. */
function newsOf(profile: ProfileName) {
  const asking = new Asking({ profile });
  const feed = new PushFeed(asking.state);
  asking.control.moveByHand(code, "101", "10001");
  feed.registerFrames();
  feed.changeFrames(everybody);
  asking.control.moveByHand(code, "101", "10010");
  const frames = [...feed.registerFrames()];
  asking.post(code, "140", "10000");
  asking.pass(2 * minuteMs).decide({ path: "/api/station" });
  frames.push(...feed.changeFrames(everybody));
  asking.control.setOnline(code, false);
  frames.push(...feed.changeFrames(everybody));
  const around = { ...framing(code, "WS-0001"), receivedAt: asking.now };
  const news = frames.flatMap(({ channel, text }) =>
    frameDecoder(channels[channel], profile === "odd" ? odd : {})(Buffer.from(text), around),
  );
  return { news, problems: around.problems };
}

const only = <Type extends PushNews["type"]>(news: readonly PushNews[], type: Type) =>
  news.filter((one): one is Extract<PushNews, { type: Type }> => one.type === type);

describe.each(profileNames)("the push frames of the simulator's profile %s", (profile) => {
  const { news, problems } = newsOf(profile);

  it("leave nothing unread", () => expect(problems).toEqual([]));

  it("tell the register that changed", () => {
    const told = only(news, "registers").map((one) => [one.code, ...[...one.values].flat().map(String)]);
    expect(told).toEqual([[code, "101", "10010"]]);
  });

  it("tell the running status that changed", () => {
    const items = only(news, "statuses").flatMap((one) => one.items);
    expect(items).toContainEqual(expect.objectContaining({ number: 16 }));
    expect(items.every(({ value }) => value !== null)).toBe(true);
  });

  it("tell that the controller is gone", () =>
    expect(only(news, "connection").at(-1)).toEqual({ type: "connection", code, online: false }));

  it("tell every reading of the station, dated", () => {
    const [sample] = only(news, "sensors");
    expect(sample?.items).toHaveLength(11);
    expect(sample?.items.every(({ measuredAt }) => measuredAt !== null)).toBe(true);
  });
});
