import { describe, expect, it } from "vitest";
import type { PlatformErrorFacts, PlatformHost } from "../../src/greenhouse/ports.js";
import { retryAfterMs } from "../../src/runtime/retry-after.js";
import {
  type Admission,
  admit,
  closedCircuit,
  openAfter,
  renew,
  type RequestEnd,
  settle,
} from "../../src/platform/circuit.js";
import { commandRetries, pollingRetries, retryDelayMs } from "../../src/platform/requests.js";

const said = (admission: Admission): string =>
  admission.go ? (admission.probe ? "probe" : "go") : `${admission.because} ${admission.retryInMs}`;

const endOf = (word: string, number: number): RequestEnd =>
  word === "held" ? { type: word, ms: number } : { type: word as Exclude<RequestEnd["type"], "held"> };

/**
 * Plays a story, one thing after the other: `9 r ends failed 5` (five requests to the realtime host end so at 9 ms, or are held for so
 * long), `9 b asks go` (what is said to a request to the business host; how long it has to wait need not be told), `urges` for an
 * urgent one, `9 r renewed` a new credential.
 */
function play(story: string): void {
  let circuit = closedCircuit;
  for (const part of story.split(", ")) {
    const [at = "", letter, does, word = "", number = ""] = part.split(" ");
    const host: PlatformHost = letter === "r" ? "realtime" : "business";
    const now = Number(at);
    if (does === "renewed") circuit = renew(circuit);
    else if (does === "ends") {
      const end = endOf(word, Number(number));
      const times = end.type === "held" ? 1 : Number(number || 1);
      for (let n = 0; n < times; n += 1) circuit = settle(circuit, host, end, now);
    } else {
      const asked = admit(circuit, host, now, does === "urges");
      circuit = asked.circuit;
      const answer = said(asked.admission);
      expect(number === "" ? answer.split(" ")[0] : answer, part).toBe(
        number === "" ? word : `${word} ${number}`,
      );
    }
  }
}

const lost = `0 r ends failed ${openAfter}`;
const bothLost = `${lost}, 0 b ends failed ${openAfter}`;
const refusal = (at: number) => `${at} b ends challenged, ${at} b ends refused`;

describe("the circuit", () => {
  it.each(
    `
    # opens after 5 consecutive failures, and only then
    0 r ends failed 4, 1 r asks go, 1 r ends failed, 2 r asks lost 29999, 2 b asks go
    # an answer between failures starts the count afresh
    0 r ends failed 4, 0 r ends answered, 0 r ends failed 4, 1 r asks go
    # whatever it says
    0 r ends failed 4, 0 r ends challenged, 0 r ends failed 4, 1 r asks go
    # be it of no use
    0 r ends failed 4, 0 r ends heard, 0 r ends failed 4, 1 r asks go
    # lets one probe through per 30 s, and no second one beside it
    ${lost}, 30000 r asks probe, 30001 r asks lost, 30500 r ends failed, 59999 r asks lost 1, 60000 r asks probe
    # a probe that is given up does not stop probing for ever
    ${lost}, 30000 r asks probe, 31000 r ends abandoned, 60000 r asks probe
    # nor does one that never ends
    ${lost}, 60000 r asks probe, 100000 r asks lost, 150000 r asks probe
    # a host does not wait for ever for a turn the other does not take
    ${bothLost}, 1000 b asks lost, 30000 r asks probe, 30100 r ends failed, 40000 b asks lost, 60000 r asks lost 15000, 75000 r asks probe
    # when one host's probe succeeds the other's is due at once
    ${bothLost}, 30000 r asks probe, 30100 r ends answered, 30101 r asks go, 30101 b asks probe
    # an urgent call always goes out and counts as the probe
    ${lost}, 5000 r urges probe, 5100 r ends failed, 34000 r asks lost, 34500 r urges probe, 34600 r ends answered, 34700 r asks go
    # Retry-After holds a host's polls for its time, urgent calls excepted
    0 b ends held 10000, 9000 b asks held 1000, 9000 b urges go, 9500 b ends answered, 9600 b asks held, 10000 b asks go, 1 r asks go
    # refusals of the credential open it too; a new credential closes it
    ${[0, 1, 2, 3, 4].map(refusal).join(", ")}, 10 b asks refused, 40000 b asks probe, ${refusal(40_001)}, 40002 b asks refused, 40003 b renewed, 40003 b asks go
  `
      .split(/\s*# /)
      .slice(1)
      .map((rule) => rule.split("\n")),
  )("%s", (_rule, story = "") => play(story.trim()));

  it("does not open for one operation that alone has no answer, and does where another one fares the same", () => {
    const ended = (...operations: readonly (string | null)[]) =>
      operations.reduce(
        (circuit, operation) => settle(circuit, "realtime", { type: "failed", operation }, 0),
        closedCircuit,
      ).realtime;
    const five = Array.from({ length: openAfter }, () => "GET /api/sensor-data");
    expect(ended(...five)).toMatchObject({ open: false, failures: 5, silent: "GET /api/sensor-data" });
    expect(ended(...five, "GET /api/get-value")).toMatchObject({ open: true, failures: 6, silent: null });
    expect(ended(...five, null)).toMatchObject({ open: true, failures: 6, silent: null });
  });
});

const facts = (over: Partial<PlatformErrorFacts>): PlatformErrorFacts => ({
  kind: "unreachable",
  host: "realtime",
  operation: "GET /api/sensor-data",
  sent: false,
  ...over,
});

type Retry = [string, Partial<PlatformErrorFacts>, number, number, number | null];

describe("retries of reads", () => {
  it.each<Retry>([
    ["no connection: full jitter up to 1 s", { kind: "unreachable" }, 0, 0.5, 500],
    ["the second time up to 2 s", { kind: "unreachable" }, 1, 0.5, 1_000],
    ["never a third time", { kind: "unreachable" }, 2, 0.5, null],
    ["a cut answer", { kind: "interrupted" }, 0, 0.999, 999],
    ["a fault of the server", { kind: "server", status: 502 }, 0, 0.1, 100],
    ["not a path it does not know", { kind: "server", status: 404 }, 0, 0.1, null],
    [
      "too many requests: what it asks, and jitter",
      { kind: "throttled", sent: true, retryAfterMs: 7_000 },
      0,
      0.25,
      7_250,
    ],
    ["not when it asks for long", { kind: "throttled", sent: true, retryAfterMs: 31_000 }, 0, 0.25, null],
    ["not while we hold it back ourselves", { kind: "throttled", retryAfterMs: 7_000 }, 0, 0.25, null],
    ...(["timeout", "unauthorized", "rejected", "protocol", "paused", "invalid_request"] as const).map(
      (kind): Retry => [`not ${kind}`, { kind }, 0, 0, null],
    ),
  ])("%s", (_name, over, attempt, chance, delay) =>
    expect(retryDelayMs(pollingRetries, attempt, facts(over), chance)).toBe(delay),
  );

  it("a command's read is repeated once, within a second", () => {
    expect(retryDelayMs(commandRetries, 0, facts({}), 0.999)).toBe(999);
    expect(retryDelayMs(commandRetries, 1, facts({}), 0)).toBeNull();
    expect(
      retryDelayMs(commandRetries, 0, facts({ kind: "throttled", sent: true, retryAfterMs: 5_000 }), 0),
    ).toBeNull();
  });
});

describe("Retry-After", () => {
  const now = Date.parse("2026-03-01T08:00:00Z");
  it.each<[string | undefined, string | undefined, number | null]>([
    ["120", undefined, 120_000],
    ["1.5", undefined, 1_500],
    ["100000", undefined, 86_400_000],
    ["Sun, 01 Mar 2026 08:01:00 GMT", undefined, 60_000],
    ["Sun, 01 Mar 2026 07:00:00 GMT", undefined, 0],
    ["Thu, 01 Jan 1970 00:01:00 GMT", "Thu, 01 Jan 1970 00:00:30 GMT", 30_000],
    ["soon", undefined, null],
    ["-5", undefined, null],
    [undefined, undefined, null],
  ])("%j with Date %j is %j ms", (header, date, expected) =>
    expect(retryAfterMs(header, date, now)).toBe(expected),
  );
});
