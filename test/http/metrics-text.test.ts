import { describe, expect, it } from "vitest";
import { metricsText } from "../../src/http/metrics-text.js";

describe("the text of metrics", () => {
  it("says help and type once, then a line for each sample", () => {
    const text = metricsText([
      {
        name: "commands_total",
        type: "counter",
        help: "Commands",
        samples: [
          { labels: { outcome: "confirmed" }, value: 3 },
          { labels: { outcome: "failed", why: "x" }, value: 0 },
        ],
      },
      { name: "empty", type: "gauge", help: "Nothing", samples: [] },
    ]);
    expect(text).toBe(
      [
        "# HELP commands_total Commands",
        "# TYPE commands_total counter",
        'commands_total{outcome="confirmed"} 3',
        'commands_total{outcome="failed",why="x"} 0',
        "# HELP empty Nothing",
        "# TYPE empty gauge",
        "",
      ].join("\n"),
    );
  });

  it("gives a histogram's parts their endings", () => {
    const samples = [
      { suffix: "_bucket", labels: { le: "+Inf" }, value: 2 },
      { suffix: "_sum", value: 1.5 },
      { suffix: "_count", value: 2 },
    ] as const;
    const lines = metricsText([{ name: "d", type: "histogram", help: "", samples }]).split("\n");
    expect(lines.slice(2, -1)).toEqual(['d_bucket{le="+Inf"} 2', "d_sum 1.5", "d_count 2"]);
  });

  it.each([
    [Infinity, "+Inf"],
    [-Infinity, "-Inf"],
    [NaN, "NaN"],
    [1e21, "1e+21"],
    [0.1, "0.1"],
  ])("writes %d as %s", (value, text) => {
    const page = metricsText([{ name: "v", type: "gauge", help: "", samples: [{ value }] }]);
    expect(page.trimEnd().split("\n").at(-1)).toBe(`v ${text}`);
  });

  it("a label's text can end neither its quotes nor its line", () => {
    const labels = { text: 'a"b\\c\nd' };
    const page = metricsText([{ name: "v", type: "gauge", help: "", samples: [{ value: 1, labels }] }]);
    expect(page.trimEnd().split("\n").at(-1)).toBe('v{text="a\\"b\\\\c\\nd"} 1');
  });
});
