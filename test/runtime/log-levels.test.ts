import { describe, expect, it } from "vitest";
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

it("a text of a sender cannot forge a line of the log", () => {
  const lines: string[] = [];
  const log = createLogger(
    { level: "info", format: "text", secrets: () => [] },
    { write: (text) => lines.push(text) },
  );
  log.info({ by: "anna\n12:00:00 command ended" }, "command taken");
  expect(lines.join("").trimEnd().split("\n")).toHaveLength(1);
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
