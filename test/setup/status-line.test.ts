import { describe, expect, it } from "vitest";
import { StatusLine } from "../../src/setup/status-line.js";

function screen(isTTY: boolean, columns?: number) {
  const written: string[] = [];
  return { written, isTTY, columns, write: (text: string) => written.push(text) };
}

const erase = "\r\u001b[K";

describe("the line that tells what goes on", () => {
  it("is drawn over itself, below whatever else is written, and gone at the end", () => {
    const shown = screen(true);
    const line = new StatusLine(shown);
    line.show("one");
    line.show("two");
    line.above(() => shown.write("a warning\n"));
    line.end();
    expect(shown.written).toEqual(["one", erase, "two", erase, "a warning\n", "two", erase]);
  });

  it("is no wider than the terminal, so that it can be taken away again", () => {
    const shown = [screen(true, 40), screen(true, 0), screen(true)];
    for (const one of shown) new StatusLine(one).show("x".repeat(200));
    expect(shown.map(({ written }) => written[0]?.length)).toEqual([39, 79, 79]);
  });

  it("is not shown elsewhere", () => {
    const pipe = screen(false);
    const line = new StatusLine(pipe);
    line.show("one");
    line.above(() => pipe.write("a warning\n"));
    line.end();
    expect(pipe.written).toEqual(["a warning\n"]);
  });
});
