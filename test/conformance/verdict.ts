export type Result = "passed" | "failed" | "timed out";

/** What is wrong with a result, given whether the test is a known gap; null when it is as expected. */
export function complaintAbout(name: string, result: Result, isKnownGap: boolean): string | null {
  if (result === "passed" && isKnownGap)
    return `${name} passes now: remove it from test/conformance/known-gaps.ts`;
  if (result !== "passed" && !isKnownGap) return `${name} ${result}, and it is no known gap`;
  return null;
}

/** Names of the tests in a file of Paho's suite, in its order. */
export function testsIn(source: string): readonly string[] {
  return [...source.matchAll(/^ {4}def (test\w*)\(self\)/gm)].flatMap(([, name]) => (name ? [name] : []));
}
