import { describe, expect, it } from "vitest";
import { adjustableLogs, createLogger } from "../../src/runtime/log.js";

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
