import { expect, test } from "vitest";
import { render } from "./jinja.js";

// Each expected text was made with Jinja 3.1.
test.each([
  ["{{ value }}", "x", "x"],
  ["{{ value_json.a }}", '{"a": null}', "None"],
  ["{{ value_json.a }}", '{"a": true}', "True"],
  ["{{ value_json.a }}", "{}", ""],
  ["{{ 'a' if value == 'x' else 'b' if value == 'y' else 'c' }}", "y", "b"],
  ["{{ (value_json.n or 0) > 0 and value_json.n <= 5 }}", '{"n": 3}', "True"],
  ["{{ 0 <= value | float(-1) <= 5 }}", "7", "False"],
  ["{{ (value | float * 2) | round(1) }}", "1.24", "2.5"],
  ["{{ {'\\u0027': 'quote'}.get(value, value) }}", "'", "quote"],
  ["{{ value_json.n is number }}", '{"n": "3"}', "False"],
  ["{{ -5 <= value | float(0) }}", "-6", "False"],
  ["{{ value[:2] }}", "风e", "风e"],
  ["{{ value[:2] }}", "🌱🌱🌱", "🌱🌱"],
  ["{{ value | float(0) == value | float(1) }}", "2e1", "True"],
  ["{{ value | float(0) == value | float(1) }}", "x", "False"],
])("%s of %s is %s", (template, payload, rendered) => expect(render(template, payload)).toBe(rendered));

test.each([
  ["{{ value | upper }}", "x"],
  ["{{ value_json.a.b }}", "{}"],
  ["{{ value | float }}", "--"],
  ["{{ value_json.state }}", "no JSON"],
  ["plain text", "x"],
  ["{{ value value }}", "x"],
])("%s of %s fails instead of passing unseen", (template, payload) =>
  expect(() => render(template, payload)).toThrow(),
);
