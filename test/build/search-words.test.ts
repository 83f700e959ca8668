import { describe, expect, it } from "vitest";
import { searchWords } from "../../build/site/search-words.mjs";

describe("the site's search", () =>
  it.each([
    ["English by its words", "Guards: storm, and rain", ["Guards", "storm", "and", "rain"]],
    ["a name in one piece", "GH-0001 left_skylight", ["GH", "0001", "left", "skylight"]],
    ["Chinese by each two signs", "报警限值。", ["报警", "警限", "限值"]],
    ["one sign alone", "窗", ["窗"]],
    ["Chinese beside a name", "打开MQTT主题", ["打开", "MQTT", "主题"]],
    ["nothing in nothing", "", []],
  ])("finds %s", (_, text, words) => expect(searchWords(text)).toEqual(words)));
