import { describe, expect, it } from "vitest";
import { isComplaint } from "../../../src/platform/decode/decoding.js";

describe("words in the place of an answer", () => {
  it.each([
    { error: "Forbidden" },
    { detail: "Not found.", status: 404 },
    { error: { code: 401, message: "token expired" } },
    { message: "expired", detail: [] },
    { timestamp: 1, status: 500, error: "Internal Server Error", path: "/api/device" },
  ])("%j is a complaint", (body) => expect(isComplaint(body)).toBe(true));

  it.each([
    { detail: [{ address: "101", value: "1010" }] },
    { detail: { "101": "1010" } },
    { message: "ok", detail: [{ address: "101", value: "1010" }] },
    { error: "", message: {} },
    { status: 200, message: "暂无数据" },
    { status: "200", msg: "no data" },
    { success: true, message: "none" },
  ])("%j is none", (body) => expect(isComplaint(body)).toBe(false));
});
