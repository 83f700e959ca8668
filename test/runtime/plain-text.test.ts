import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { guardStreams } from "../../src/cli/program.js";
import { readPayload } from "../../src/commands/payload.js";
import { csvText } from "../../src/runtime/csv.js";
import { createLogger } from "../../src/runtime/log.js";
import { inert, isOneLine } from "../../src/runtime/plain-text.js";
import { Meter } from "../../src/setup/discover/progress.js";
import { terminalDialogue } from "../../src/setup/init/questions.js";
import { VirtualClock } from "../support/virtual-clock.js";

/* Names, senders and answers come from outside, and end up on terminals and in tables. */

const hostile = [
  ["an escape", "\u001b[2J\u001b]0;title\u0007"],
  ["a control sequence of one character", "\u009b31m"],
  ["a line that takes the one before back", "\rok"],
  ["a backspace", "no\b\b"],
  ["a mark of writing direction", "\u202egnp.exe\u202c"],
  ["an isolate", "\u2066a\u2069"],
  ["a separator of lines", "a\u2028b\u2029c\u0085d"],
  ["a delete", "a\u007f"],
] as const;

const obeyed = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]|\r(?!\n)/u;

function streams() {
  const written: string[] = [];
  const stream = { isTTY: true, write: (text: string) => written.push(text), on: () => undefined };
  return { ...guardStreams(stream, stream), written };
}

describe.each(hostile)("of a text from outside %s", (_, text) => {
  it("reaches no terminal, and JSON means the same", () => {
    const { out, err, written } = streams();
    out(`${text}\n`);
    err.write(`${text}\n`);
    out(`${JSON.stringify({ text })}\n`);
    expect(written.filter((one) => obeyed.test(one))).toEqual([]);
    expect(JSON.parse(written[2] ?? "")).toEqual({ text });
  });

  it.each(["text", "json"] as const)("reaches no log as %s, whether fact, message or sentence", (format) => {
    const lines: string[] = [];
    const sentences = { told: () => `a command of ${text}` };
    const settings = { level: "info", format, secrets: () => [], sentences };
    const log = createLogger(settings, { write: (line: string) => lines.push(line) });
    log.info({ by: text }, "a message");
    log.info({}, `a message of ${text}`);
    log.info({ by: text }, "told");
    expect(lines.filter((line) => obeyed.test(line))).toEqual([]);
    if (format === "json") expect(JSON.parse(lines[0] ?? "")).toMatchObject({ by: text });
  });

  /** What of the screen is not drawn by ourselves. */
  const undrawn = (written: string) => written.replace(/\u001b\[[\d;?]*[A-Za-z]/g, "");

  it("reaches no terminal that a scan draws its progress on", () => {
    let written = "";
    const screen = { isTTY: true, write: (piece: string) => (written += piece) };
    const meter = new Meter(screen, new VirtualClock(), 0);
    meter.say(text);
    meter.note(`a host says ${text}`);
    expect(undrawn(written)).not.toMatch(obeyed);
  });

  it("reaches no terminal that questions are asked on", async () => {
    let written = "";
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
    const output = { write: (piece: string) => (written += piece) };
    const stop = new AbortController();
    const dialogue = terminalDialogue({ input, output, stop: stop.signal, tell: String });
    dialogue.say(text);
    const chosen = dialogue.choose("Which?", [["one", text]] as const);
    input.write("\r");
    expect(await chosen).toBe("one");
    expect(undrawn(written)).not.toMatch(obeyed);
  });

  it("reaches no table for a spreadsheet", () => {
    expect(obeyed.test(csvText([[text, 1]]).slice(1))).toBe(false);
  });
});

it("what a sender wrote begins no line of its own in a log for people", () => {
  const lines: string[] = [];
  const log = createLogger(
    { level: "info", format: "text", secrets: () => [] },
    { write: (line: string) => lines.push(line) },
  );
  log.info({}, "a\n08:00:00 error everything is lost");
  expect(
    lines
      .join("")
      .split("\n")
      .filter((line) => /^\d\d:/.test(line)),
  ).toHaveLength(1);
});

it("ordinary texts stay as they are, in every script", () => {
  const texts = ["温室 1", "Gewächshaus\t1\n", "سقف", "Ω ° %", "🌱👩‍🌾", "\ufeffa;b\r\n", "a\u00a0b"];
  expect(texts.map(inert)).toEqual(texts);
});

it("who sends is a text of one line, of commands too", () => {
  expect(["anna", "温室", "a\nb", "a\u001b[0m", "a\u009b", "a\ud800"].map(isOneLine)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
  const payload = new TextEncoder().encode(JSON.stringify({ command: "open", by: "a\u009bb" }));
  expect(readPayload(payload)).toMatchObject({ reason: "bad_payload" });
});
