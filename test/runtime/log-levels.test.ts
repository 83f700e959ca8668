import { describe, expect, it } from "vitest";
import { commandSentences } from "../../src/commands/log-lines.js";
import { adjustableLogs, createLogger, RecentLog } from "../../src/runtime/log.js";

function logs(configured: string) {
  const lines: string[] = [];
  const write = (text: string) => lines.push(text);
  const log = createLogger({ level: configured, format: "text", secrets: () => [] }, { write });
  const made = adjustableLogs(log, () => configured);
  const said = () => {
    lines.length = 0;
    made.log.info("other");
    made.commandLog.info("command");
    return lines.map((line) => line.trim().split(" ").at(-1));
  };
  return { ...made, said };
}

describe("a log level that a request asked for", () => {
  it("hides no line of a command", () => {
    const { said, setLogLevel } = logs("info");
    expect(said()).toEqual(["other", "command"]);
    setLogLevel("fatal");
    expect(said()).toEqual(["command"]);
    setLogLevel("info");
    expect(said()).toEqual(["other", "command"]);
  });

  it("shows them where the configuration does not", () => {
    const { said, setLogLevel } = logs("warn");
    expect(said()).toEqual([]);
    setLogLevel("info");
    expect(said()).toEqual(["other", "command"]);
    setLogLevel("fatal");
    expect(said()).toEqual([]);
  });
});

it.each([{}, commandSentences])("a text of a sender cannot forge a line of the log", (sentences) => {
  const lines: string[] = [];
  const log = createLogger(
    { level: "info", format: "text", secrets: () => [], sentences },
    { write: (text) => lines.push(text) },
  );
  log.info({ by: "anna\n12:00:00 command ended" }, "command taken");
  expect(lines.join("").trimEnd().split("\n")).toHaveLength(1);
});

it("a command is a sentence on a terminal, and fields in a pipe", () => {
  const lines: string[] = [];
  const target = { write: (text: string) => lines.push(text) };
  const settings = { level: "info", secrets: () => ["hunter2"], sentences: commandSentences } as const;
  const asked = { id: "a", controller: "gh-0001", actuator: "roof", command: "45", value: "45", by: "anna" };
  const end = { outcome: "refused", reason: "interlock", message: "It blows, hunter2.", read_back: null };
  for (const format of ["text", "json"] as const) {
    const log = createLogger({ ...settings, format }, target);
    log.info({ ...asked, via: null }, "command taken");
    log.info({ ...asked, ...end, via: null, duration_ms: 940 }, "command ended");
  }
  expect(lines.slice(0, 2).map((line) => line.slice(9))).toEqual([
    "gh-0001/roof 45: taken (by anna)\n",
    "gh-0001/roof 45 → refused (interlock) after 0.9 s: It blows, [hidden]. (by anna)\n",
  ]);
  expect(lines.slice(2).map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { msg: "command taken", ...asked },
    { msg: "command ended", ...asked, outcome: "refused", duration_ms: 940 },
  ]);
});

describe("the newest lines of the log", () => {
  const logInto = (recent: RecentLog) =>
    createLogger(
      { level: "info", format: "text", secrets: () => ["hunter2"] },
      { write: () => undefined },
      recent,
    );

  it("are kept as they were written: with their facts, and without secrets", () => {
    const recent = new RecentLog();
    const log = logInto(recent);
    log.debug("below the level");
    log.warn({ controller: "GH-0001" }, "the platform refuses hunter2");
    expect(recent.newest()).toEqual([
      {
        at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        level: "warn",
        message: "the platform refuses [hidden]",
        facts: { controller: "GH-0001" },
        sentence: null,
      },
    ]);
  });

  it("have the sentence of a person where there is one, in the place of what stands behind it", () => {
    const sentences = { moved: ({ what }: Readonly<Record<string, unknown>>) => `it moved ${String(what)}` };
    const recent = new RecentLog(undefined, sentences);
    logInto(recent).info({ what: "the fan\nand hunter2" }, "moved");
    expect(recent.newest()).toMatchObject([
      {
        message: "moved",
        sentence: "it moved the fan\ufffdand [hidden]",
        facts: { what: "the fan\nand [hidden]" },
      },
    ]);
  });

  it("are a thousand at most, and fewer where fewer are asked for", () => {
    const recent = new RecentLog();
    const log = logInto(recent);
    for (let number = 1; number <= 2_500; number += 1) log.info(`line ${number}`);
    expect(recent.newest()).toHaveLength(1_000);
    expect(recent.newest().at(-1)?.message).toBe("line 2500");
    expect(recent.newest(2).map(({ message }) => message)).toEqual(["line 2499", "line 2500"]);
    expect(recent.newest(0)).toEqual([]);
  });
});
