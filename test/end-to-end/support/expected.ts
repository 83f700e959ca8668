import { expect } from "vitest";

/* Matchers without vitest's `any`. */

export const anyText: unknown = expect.any(String);
export const anyNumber: unknown = expect.any(Number);
export const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);
export const containing = (part: string): unknown => expect.stringContaining(part);
