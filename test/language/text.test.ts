import { describe, expect, it } from "vitest";
import {
  byCode,
  counted,
  documentText,
  joined,
  keptOf,
  row,
  msg,
  sentenceOf,
  textOf,
  TextError,
} from "../../src/language/text.js";
import { tellBy } from "../../src/language/words.js";

const controller = msg`the controller ${"GH-0001"}`;
const sentence = msg`${controller} has ${counted(2, "problem", "problems")}: ${joined(["a", msg`no token`], "; ")}`;

describe("a sentence", () => {
  it("is English for programs", () => {
    const english = "the controller GH-0001 has 2 problems: a; no token";
    expect(`${String(sentence)}|${JSON.stringify({ sentence })}`).toBe(
      `${english}|{"sentence":"${english}"}`,
    );
  });

  it("is told in another language with what was put in, which may be a sentence itself", () => {
    const tell = tellBy(
      {
        "the controller {1}": "控制器 {1}",
        "{1} has {2}: {3}": "{1}有{2}：{3}",
        "{1, plural, one {# problem} other {# problems}}": "{1} 个问题",
        "no token": "没有令牌",
      },
      "zh",
    );
    expect(tell(sentence)).toBe("控制器 GH-0001有2 个问题：a; 没有令牌");
    expect(tell(row`- ${msg`no token`}`)).toBe("- 没有令牌");
  });

  it("stays English where a language has no words for it, and a name stays as it is in every language", () => {
    const tell = tellBy({ "no token": "x" }, "xx");
    expect([tell(controller), tell("no token")]).toEqual(["the controller GH-0001", "no token"]);
  });

  it("has a form for each number that the language tells apart", () => {
    const words = {
      "{1, plural, one {# window} other {# windows}}":
        "{1, plural, one {# окно} few {# окна} other {# окон}}",
    };
    const tell = tellBy(words, "ru");
    expect([1, 3, 5].map((count) => tell(counted(count, "window", "windows")))).toEqual([
      "1 окно",
      "3 окна",
      "5 окон",
    ]);
  });

  it("takes what a person wrote for itself, braces too", () => {
    expect(tellBy({ "“{1}” is no key": "{1}?" }, "zh")(msg`“${"{a} {1} '"}” is no key`)).toBe("{a} {1} '?");
  });

  it("is the same one after it was kept as JSON, with what was put in by number or by name", () => {
    const named = byCode("code.x", "English", { who: msg`the controller ${"GH-0001"}` });
    const tell = tellBy({ "the controller {1}": "控制器 {1}", "code.x": "{who}：不行" }, "zh");
    for (const one of [sentence, named, row`- ${controller}`]) {
      const again = sentenceOf(JSON.parse(JSON.stringify(keptOf(one))));
      expect(String(again)).toBe(String(one));
      expect(again === null ? null : tell(again)).toBe(tell(one));
    }
    expect([null, 1, "x", {}, { parts: ["a"], values: [1] }].map(sentenceOf)).toEqual(Array(5).fill(null));
  });

  it("stands in a document in the language of who reads it", () => {
    const tell = tellBy({ "the controller {1}": "控制器 {1}" }, "zh");
    expect(documentText({ a: [controller], b: "the controller" }, tell)).toBe(
      '{"a":["控制器 GH-0001"],"b":"the controller"}',
    );
  });

  it("is kept by the error that says it", () => {
    const error = new TextError(controller);
    expect([error.message, textOf(error), textOf(new Error("ECONNREFUSED"))]).toEqual([
      "the controller GH-0001",
      controller,
      "ECONNREFUSED",
    ]);
    expect(Object.keys(error)).toEqual([]);
  });
});
