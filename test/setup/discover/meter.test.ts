import { describe, expect, it } from "vitest";
import { durationText, Meter } from "../../../src/setup/discover/meter.js";
import { VirtualClock } from "../../support/virtual-clock.js";

function screen(isTTY: boolean, columns?: number) {
  const written: string[] = [];
  const shown = {
    isTTY,
    ...(columns === undefined ? {} : { columns }),
    write: (text: string) => written.push(text),
  };
  const clock = new VirtualClock();
  return { written, clock, meter: new Meter(shown, clock, 300) };
}

describe("progress on a terminal", () => {
  it("is one line that is drawn over itself, and gone at the end", async () => {
    const { written, clock, meter } = screen(true);
    meter.begin(100, 0);
    for (let n = 0; n < 50; n += 1) {
      await clock.advance(250);
      meter.asked("GH-0001");
    }
    meter.end();
    const text = written.join("");
    expect(text).toContain("[############............] 50/100  less than a minute left  GH-0001");
    expect(text.split("\n")).toHaveLength(2);
    expect(text.endsWith("\r\u001b[K")).toBe(true);
  });

  it("begins with what is planned", () => {
    const { written, meter } = screen(true);
    meter.begin(1_000, 400);
    expect(written[0]).toBe(
      "600 requests to go (400 of 1000 are known from an interrupted scan), about 3 min; nothing is sent to any actuator\n",
    );
  });

  it("what else is written stands above the bar", () => {
    const { written, meter } = screen(true);
    meter.begin(10, 0);
    written.length = 0;
    meter.write("a warning\n");
    expect(written).toEqual(["\r\u001b[K", "a warning\n", expect.stringMatching(/^\[\.{24}\] 0\/10/)]);
  });

  it("the bar is no wider than the terminal, so that it can be taken away again", () => {
    const { written, meter } = screen(true, 40);
    meter.begin(10, 0);
    for (const part of written.filter((text) => text.startsWith("["))) expect(part.length).toBeLessThan(40);
    const unknown = screen(true, 0);
    unknown.meter.begin(10, 0);
    expect(unknown.written.join("")).toContain("] 0/10  less than a minute left");
  });

  it("is drawn a few times a second at most", async () => {
    const { written, clock, meter } = screen(true);
    meter.begin(1_000, 0);
    written.length = 0;
    for (let n = 0; n < 1_000; n += 1) {
      await clock.advance(1);
      meter.asked("GH");
    }
    expect(written.filter((text) => text.startsWith("["))).toHaveLength(5);
  });
});

describe("progress elsewhere", () => {
  it("is not shown, however long it takes", async () => {
    const { written, clock, meter } = screen(false);
    meter.begin(1_000, 400);
    for (let n = 0; n < 600; n += 1) {
      await clock.advance(210);
      meter.asked("GH-0001\u001b[31m");
    }
    meter.end();
    expect(written).toEqual([]);
  });

  it("the same note is written once", () => {
    const { written, meter } = screen(false);
    meter.note("one");
    meter.note("one");
    meter.note("two");
    expect(written).toEqual(["one\n", "two\n"]);
  });

  it("requests that are spared count as none to go", () => {
    const { written, meter } = screen(true);
    meter.begin(64, 0);
    meter.spared(31);
    meter.asked("GH");
    meter.spared(1_000);
    expect(written.join("")).not.toContain("-");
  });
});

it.each([
  [0, "less than a minute"],
  [59_000, "less than a minute"],
  [61_000, "about 2 min"],
  [3_600_000, "about 60 min"],
  [7_200_000, "about 2.0 h"],
])("%i ms are %s", (ms, text) => expect(durationText(ms)).toBe(text));
