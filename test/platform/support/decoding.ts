import fc from "fast-check";
import type { Decoding } from "../../../src/platform/decode/decoding.js";
import { timeReader } from "../../../src/platform/time.js";
import { zoneOffset } from "../../../src/runtime/zone.js";

const receivedAt = Date.parse("2026-03-01T08:00:30Z");

/** A decoding of an answer about GH-1 that keeps what could not be read. */
export function decoding(address = ""): Decoding & { readonly problems: readonly string[] } {
  const problems: string[] = [];
  return {
    code: "GH-1",
    address,
    report: (problem) => problems.push(String(problem)),
    readTime: timeReader(zoneOffset("Asia/Shanghai")),
    receivedAt,
    problems,
  };
}

/** A decoding of frames of these devices. */
export function framing(...ours: readonly string[]) {
  const { report, readTime, problems } = decoding();
  const leftOut: string[] = [];
  const knows = (code: string) => ours.includes(code);
  const leaveOut: Decoding["report"] = (problem, sample) => {
    leftOut.push(String(problem));
    report(problem, sample);
  };
  return { knows, report, leaveOut, readTime, receivedAt, problems, leftOut };
}

/** An item of registers. */
export const register = (address: string | number, value: unknown) => ({ address, value });

const names = [
  "",
  ...(
    "code data list rows records message name value val unit factor channel dateTime deviceCode deviceTypeNumber " +
    "status address 101 1 空气温度 online id __proto__ constructor prototype toString hasOwnProperty length token expiresIn"
  ).split(" "),
];
const leaf = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, 0, 1, -1, 23.5, 1e308),
  fc.constantFrom<unknown>("", "--", "23.5℃", "10010", "GH-1", "\0"),
  fc.string({ maxLength: 12 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

/** JSON answers built from the names that mean something to a decoder, hostile ones included. */
export const anyAnswer: fc.Arbitrary<unknown> = fc
  .letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 6 },
      leaf,
      fc.array(tie("node"), { maxLength: 4 }),
      fc.array(fc.tuple(fc.constantFrom(...names), tie("node")), { maxLength: 6 }).map(objectOf),
    ),
  }))
  .node.map((node) => JSON.parse(JSON.stringify(node)) as unknown);

/** As JSON.parse makes it: `__proto__` is a property like any other. */
function objectOf(entries: readonly (readonly [string, unknown])[]): unknown {
  const text = entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value ?? null)}`);
  return JSON.parse(`{${text.join(",")}}`) as unknown;
}

/** Every scalar anywhere in an answer, as text. */
export function scalarsOf(node: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (typeof node === "object" && node !== null) {
    for (const [name, child] of Object.entries(node)) {
      found.add(name);
      scalarsOf(child, found);
    }
  } else found.add(String(node).trim());
  return found;
}
