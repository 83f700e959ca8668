import { describe, expect, it } from "vitest";
import { versionLinks } from "../../build/site/versions.mjs";

const home = "https://owner.github.io/greenhouse2mqtt/";

describe("the menu of versions", () => {
  it.each([
    ["of a site without an address", { versions: "v0.2.0" }, []],
    ["of one version", { home, versions: "v0.2.0" }, ["", "v0.2.0/"]],
    [
      "of several, in any order and named twice",
      { home, versions: "v0.9.0 v0.10.0\nv0.2.0 v0.10.0" },
      ["", "v0.10.0/", "v0.9.0/", "v0.2.0/"],
    ],
    ["beside other folders", { home, versions: "assets v0.2.0" }, ["", "v0.2.0/"]],
    ["in Chinese", { home, versions: "v0.2.0", language: "zh/" }, ["zh/", "v0.2.0/zh/"]],
  ])("%s leads to the newest first, then to each version", (_, site, places) =>
    expect(versionLinks({ newest: "Newest", ...site }).map(({ link }) => link)).toEqual(
      places.map((place) => `${home}${place}`),
    ),
  );

  it("leaves the version that it is in", () =>
    expect(versionLinks({ home, newest: "Newest" }).map(({ text, target }) => [text, target])).toEqual([
      ["Newest", "_self"],
    ]));
});
