import { expect, it } from "vitest";
import { idIn } from "../../src/cli/journal.js";
import { controllerTopicId } from "../../src/settings/controllers.js";

it.each([
  ["GH-0001", "gh-0001"],
  ["gh-0001", "gh-0001"],
  ["GH-0002", "east"],
  ["east", "east"],
  ["GH-0009", "gh-0009"],
  ["gh-0009", "gh-0009"],
  ["温室", controllerTopicId("温室")],
  [controllerTopicId("温室"), controllerTopicId("温室")],
])(
  "a controller has one id in the journal, whether a record has its code or that id: %s",
  (named, expected) => expect(idIn({ "GH-0001": {}, "GH-0002": { id: "east" } })(named)).toBe(expected),
);
