/*
 * Tests of Paho's suite that the embedded broker does not pass, with the reason. The lists may only shrink: a test that
 * begins to pass must be taken off.
 */

export type Suite = "3.1.1" | "5";

export const knownGaps: Readonly<Record<Suite, Readonly<Record<string, string>>>> = {
  "3.1.1": {},
  "5": {},
};
