import { expect } from "vitest";

/* Vitest's asymmetric matchers are typed `any`; these are not. */
export const anyText: unknown = expect.any(String);
export const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);
