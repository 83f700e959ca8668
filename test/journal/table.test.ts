import { describe, expect, it } from "vitest";
import { journalTable } from "../../src/journal/table.js";
import type { JournalRecord, RecordBody } from "../../src/journal/records.js";
import { ended, refused, sent, stamped } from "./support/samples.js";

const one = (body: RecordBody): JournalRecord => stamped([body])[0] as JournalRecord;
const utc = { timeZone: "UTC" };
const growing = { ...utc, grows: true };

describe("the table of past commands", () => {
  it("shows time, controller, actuator, command, outcome, reason, sender and duration", () => {
    const records = stamped([
      ended("a", { by: "张三", via: { client: "ha", user: "home" } }),
      refused("b", "unknown_command", {
        command: null,
        message: '"opne" is no command of this actuator; it accepts open, close.',
      }),
      {
        type: "refusals_counted",
        controller: "GH-0001",
        actuator: "roof",
        count: 412,
        reasons: { expired: 400, retained: 12 },
        since: "2026-05-01T06:00:00.000Z",
      },
    ]);
    expect(journalTable(records, utc).text).toBe(
      [
        "TIME                 CONTROLLER  ACTUATOR  COMMAND   OUTCOME    REASON                    BY              DURATION  MESSAGE",
        "2026-05-01 06:00:01  GH-0001     roof      open      confirmed                            张三 (ha/home)  5.0 s",
        '2026-05-01 06:00:02  GH-0001     roof                refused    unknown_command           grower          5.0 s     "opne" is no command of this actuator; it accepts open, close.',
        "2026-05-01 06:00:03  GH-0001     roof      412 more  refused    expired 400, retained 12",
      ].join("\n"),
    );
  });

  it("shows the time of the place", () => {
    const { text } = journalTable([one(ended("a"))], { timeZone: "Asia/Shanghai" });
    expect(text).toContain("2026-05-01 14:00:01  ");
  });

  it("obeys no control characters of a sender and keeps its columns", () => {
    const record = one(ended("a", { by: "\u001b[2Jevil\n\u202edrow\u0007 " + "温".repeat(40) }));
    const line = journalTable([], growing).line(record);
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(line).toContain("…");
    expect(line.endsWith("5.0 s")).toBe(true);
  });

  it("shows any other record by its type, so that a whole journal can be shown", () => {
    const { text } = journalTable([one({ type: "stop", reason: "SIGTERM" }), one(sent("a"))], utc);
    expect(text).toMatch(/ stop +SIGTERM$/m);
    expect(text).toMatch(/ GH-0001 +roof +10010 +step_sent$/m);
  });

  it("goes on with the columns it began with, however long the cells of later lines are", () => {
    const past = stamped([ended("a", { by: "a rather long name of somebody" }), refused("b", "expired")]);
    const table = journalTable(past, growing);
    const [header = "", ...rows] = table.text.split("\n");
    const via = { client: `aedes_${"0".repeat(36)}`, user: null };
    const long = { command: "fans_1_2_3_and_more", by: "somebody", via, duration_ms: 3_599_000 };
    const later = [ended("c", long), refused("d", "lead_in_not_confirmed", { message: "x".repeat(280) })];
    const lines = [...rows, ...later.map((body) => table.line(one(body)))];
    for (const title of ["CONTROLLER", "ACTUATOR", "COMMAND", "OUTCOME", "REASON", "BY", "DURATION"]) {
      const at = header.indexOf(title);
      for (const line of lines) expect(line.charAt(at - 1), `${title}: ${line}`).toBe(" ");
    }
    for (const line of lines)
      expect(line.slice(header.indexOf("OUTCOME"))).toMatch(/^(?:confirmed|refused) /);
    expect(lines.at(-1)?.slice(header.indexOf("MESSAGE"))).toBe("x".repeat(280));
    expect(journalTable([], growing).text).toMatch(/^TIME +CONTROLLER +ACTUATOR.* MESSAGE$/);
  });

  it.each([
    [12.4, "12 ms"],
    [4_230, "4.2 s"],
    [125_900, "2 min 5 s"],
  ])("%d ms is %s", (ms, text) =>
    expect(journalTable([one(ended("a", { duration_ms: ms }))], utc).text).toContain(`  ${text}`),
  );
});
