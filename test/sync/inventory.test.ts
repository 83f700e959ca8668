import anyAscii from "any-ascii";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deviceType } from "../../src/greenhouse/device-types.js";
import type { DeviceRecord } from "../../src/greenhouse/ports.js";
import type { MirrorSettings } from "../../src/greenhouse/settings.js";
import { Inventory, type InventoryNews } from "../../src/sync/inventory.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { controllerSettings, record } from "../support/builders.js";
import { hour, mirrorSettings } from "../support/polled-mirror.js";
import { VirtualClock } from "../support/virtual-clock.js";

function account(settings: MirrorSettings = mirrorSettings()) {
  const clock = new VirtualClock();
  const store = new GreenhouseStore(settings, clock, anyAscii);
  store.setReachable(true);
  for (const { code, ignore } of settings.controllers.values()) if (!ignore) store.admit(code);
  const news: InventoryNews[] = [];
  const inventory = new Inventory(store, settings.removeAfterMs, (one) => news.push(one));
  const codes = () => [...store.controllers()].map(({ info }) => info.code).sort();
  const availability = (code: string) => store.get(code)?.availability;
  const types = () => news.map(({ type }) => type);
  return { clock, store, inventory, news, codes, availability, types };
}

const listed = (...codes: string[]): DeviceRecord[] =>
  codes.map((code) => record({ code, name: `House ${code}` }));
const unflagged = (...codes: string[]): DeviceRecord[] =>
  listed(...codes).map((one) => ({ ...one, online: null }));

describe("the account's lists", () => {
  it.each([
    [true, "online", ["added"]],
    // Offline is worth a question first.
    [false, "unknown", ["added", "doubted"]],
    [null, "unknown", ["added"]],
  ] as const)("the controller's own flag %j is %s", (online, availability, news) => {
    const one = account();
    one.inventory.controllersListed([record({ code: "A", online })], 0);
    expect(one.availability("A")).toBe(availability);
    expect(one.types()).toEqual(news);
  });

  it("a list's offline is asked about once for each list, and taken where nothing else could be learnt before the next", () => {
    const one = account();
    const offline = [record({ code: "A", online: false }), record({ code: "B" })];
    one.inventory.controllersListed(listed("A", "B"), 0);
    one.inventory.controllersListed(offline, 1);
    expect([one.availability("A"), one.types()]).toEqual(["online", ["added", "added", "doubted"]]);
    one.inventory.controllersListed(offline, 2);
    expect([one.availability("A"), one.types()]).toEqual(["offline", ["added", "added", "doubted"]]);
  });

  it("a device that left the list with flags is asked about", () => {
    const one = account();
    one.inventory.devicesListed(unflagged("A", "B"));
    one.inventory.controllersListed(listed("A", "B"), 0);
    one.inventory.controllersListed(listed("B"), 1);
    expect([one.availability("A"), one.types().at(-1)]).toEqual(["unknown", "doubted"]);
  });

  it("a controller new in a list is mirrored and told once", () => {
    const one = account();
    one.inventory.controllersListed(listed("A"), 0);
    one.inventory.controllersListed(listed("A", "B"), 1);
    expect(one.news).toEqual([
      { type: "added", code: "A", name: "House A" },
      { type: "added", code: "B", name: "House B" },
    ]);
  });

  it("a renamed controller is the same one under its new name", () => {
    const one = account();
    one.inventory.controllersListed(listed("A"), 0);
    const { id } = one.store.get("A")?.info ?? {};
    one.inventory.controllersListed([record({ code: "A", name: "West" })], 1);
    expect(one.store.get("A")?.info).toMatchObject({ id, name: "West" });
    expect(one.types()).toEqual(["added"]);
  });

  it("devices only in /api/device are mirrored with availability unknown; those of both lists keep their flag", () => {
    const one = account();
    one.inventory.controllersListed(listed("A"), 0);
    one.inventory.devicesListed(unflagged("A", "W"));
    expect([one.availability("A"), one.availability("W")]).toEqual(["online", "unknown"]);
    one.inventory.controllersListed(listed("A"), 1);
    expect(one.availability("W")).toBe("unknown");
  });

  it("a controller that left its own list is unknown at once, though /api/device still lists it", () => {
    const one = account();
    one.inventory.controllersListed(listed("A", "B"), 0);
    one.inventory.devicesListed(unflagged("A", "B"));
    one.inventory.controllersListed(listed("A"), 1);
    expect([one.availability("A"), one.availability("B")]).toEqual(["online", "unknown"]);
    one.inventory.controllersListed(listed("A", "B"), 2);
    expect(one.availability("B")).toBe("online");
  });

  it("a controller that left every list goes offline at once, not by way of unknown", () => {
    const one = account();
    one.inventory.controllersListed(listed("A", "B"), 0);
    const seen: unknown[] = [];
    one.store.onChange((_, after) => seen.push(after?.availability));
    one.inventory.controllersListed(listed("A"), 1);
    expect(one.availability("B")).toBe("offline");
    expect(seen).not.toContain("unknown");
  });

  it("the ids are the same whatever the order of a list", () => {
    const codes = ["gh-1", "GH-1", "Gh-1", "温室", "a b", "a_b", "A_B"];
    fc.assert(
      fc.property(fc.shuffledSubarray(codes, { minLength: codes.length }), (order) => {
        const one = account();
        const other = account();
        one.inventory.controllersListed(listed(...codes), 0);
        other.inventory.controllersListed(listed(...order), 0);
        for (const code of codes) expect(other.store.get(code)?.info.id).toBe(one.store.get(code)?.info.id);
      }),
    );
  });

  it("the id of a controller is the same whatever else the account holds", () => {
    for (const code of ["GH-1", "gh-1", "Gh-1", "a b", "A_B"]) {
      const alone = account();
      alone.inventory.controllersListed(listed(code), 0);
      const late = account();
      late.inventory.controllersListed(listed("gh-1", "GH-1", "Gh-1", "a b", "a_b", "A_B"), 0);
      expect(late.store.get(code)?.info.id).toBe(alone.store.get(code)?.info.id);
    }
  });

  it("the ids are the same whichever list comes first", () => {
    const one = account();
    one.inventory.controllersListed(listed("GH-1"), 0);
    one.inventory.devicesListed(unflagged("gh-1"));
    const other = account();
    other.inventory.devicesListed(unflagged("gh-1"));
    other.inventory.controllersListed(listed("GH-1"), 0);
    for (const code of ["GH-1", "gh-1"])
      expect(other.store.get(code)?.info.id).toBe(one.store.get(code)?.info.id);
  });

  it.each([
    ["C001", true],
    ["W001", true],
    ["V003", true],
    ["V008", false],
    ["V009", false],
    ["X9", true],
  ])("a %s has readings to poll: %j", (type, has) => {
    const one = account();
    one.inventory.controllersListed([record({ code: "A", type: deviceType(type) })], 0);
    expect(one.inventory.hasReadings("A")).toBe(has);
  });
});

describe("ignored and listed", () => {
  it("an ignored controller is never mirrored", () => {
    const one = account(mirrorSettings([controllerSettings({ code: "A", ignore: true })]));
    one.inventory.controllersListed(listed("A", "B"), 0);
    expect(one.codes()).toEqual(["B"]);
  });

  it("with mirror: listed only those of the configuration are mirrored", () => {
    const one = account(mirrorSettings([controllerSettings({ code: "A" })], { mirror: "listed" }));
    one.inventory.controllersListed(listed("A", "B"), 0);
    one.inventory.devicesListed(unflagged("C"));
    expect(one.codes()).toEqual(["A"]);
    expect(one.availability("A")).toBe("online");
  });
});

describe("a controller that lists leave out", () => {
  /** Lists every hour, the first one with A and B. */
  const lists = (one: ReturnType<typeof account>, hours: number, ...codes: string[]) => {
    one.inventory.controllersListed(listed("A", "B"), 0);
    one.inventory.devicesListed(unflagged("A", "B"));
    for (let n = 1; n <= hours; n++) {
      one.inventory.devicesListed(unflagged(...codes));
      one.inventory.controllersListed(listed(...codes), n * hour);
    }
  };

  it("is offline at once and removed after 24 h of such lists", () => {
    const one = account();
    lists(one, 1, "A");
    expect([one.codes(), one.availability("B")]).toEqual([["A", "B"], "offline"]);
    lists(one, 24, "A");
    expect(one.codes()).toEqual(["A", "B"]);
    lists(one, 25, "A");
    expect(one.codes()).toEqual(["A"]);
    expect(one.news.at(-1)).toEqual({ type: "removed", code: "B", name: "House B" });
  });

  it("is removed so also where /api/device has never answered", () => {
    const one = account();
    one.inventory.controllersListed(listed("A", "B"), 0);
    for (let n = 1; n <= 30; n++) one.inventory.controllersListed(listed("A"), n * hour);
    expect(one.codes()).toEqual(["A"]);
  });

  it("is removed so also where /api/device lists nothing", () => {
    const one = account();
    one.inventory.controllersListed(listed("A", "B"), 0);
    one.inventory.devicesListed([]);
    for (let n = 1; n <= 30; n++) one.inventory.controllersListed(listed("A"), n * hour);
    expect(one.codes()).toEqual(["A"]);
  });

  it("counts anew when a list had it in between", () => {
    const one = account();
    lists(one, 20, "A");
    one.inventory.controllersListed(listed("A", "B"), 21 * hour);
    expect(one.availability("B")).toBe("online");
    for (let n = 22; n <= 45; n++) one.inventory.controllersListed(listed("A"), n * hour);
    expect(one.codes()).toEqual(["A", "B"]);
  });

  it("named in the configuration is never removed, only offline", () => {
    const one = account(
      mirrorSettings([controllerSettings({ code: "B" }), controllerSettings({ code: "C" })]),
    );
    lists(one, 100, "A");
    expect(one.codes()).toEqual(["A", "B", "C"]);
    expect([one.availability("B"), one.availability("C")]).toEqual(["offline", "offline"]);
  });

  it("an empty list removes nothing, counts for nothing and raises account_empty", () => {
    const one = account();
    lists(one, 2, "A");
    for (let n = 3; n <= 60; n++) {
      one.inventory.controllersListed([], n * hour);
      one.inventory.devicesListed([]);
    }
    expect(one.codes()).toEqual(["A", "B"]);
    expect([one.availability("A"), one.types().at(-1)]).toEqual(["online", "account_empty"]);
  });

  it("a wall clock that is set removes nothing", () => {
    const one = account();
    one.inventory.controllersListed(listed("A", "B"), 0);
    one.inventory.devicesListed(unflagged("A"));
    one.inventory.controllersListed(listed("A"), hour);
    one.clock.setWall(one.clock.now() + 3650 * 24 * hour);
    one.inventory.controllersListed(listed("A"), hour + 1_000);
    expect(one.codes()).toEqual(["A", "B"]);
  });

  it("comes back under its old id", () => {
    const one = account();
    lists(one, 30, "A");
    one.inventory.controllersListed(listed("A", "B"), 31 * hour);
    expect(one.store.get("B")?.info.id).toBe("b");
    expect(one.types()).toEqual(["added", "added", "removed", "added"]);
  });

  it("a device that /api/device no longer shows goes the same way", () => {
    const one = account();
    one.inventory.controllersListed(listed("A"), 0);
    one.inventory.devicesListed(unflagged("A", "W"));
    one.inventory.devicesListed(unflagged("A"));
    for (let n = 1; n <= 26; n++) one.inventory.controllersListed(listed("A"), n * hour);
    expect(one.codes()).toEqual(["A"]);
  });
});

describe("a page of a longer list", () => {
  const page = (...codes: string[]) => Object.assign(listed(...codes), { isPage: true });

  it("makes nothing absent and removes nothing, however long it is all that comes", () => {
    const one = account();
    one.inventory.controllersListed(listed("A", "B"), 0);
    one.inventory.devicesListed(unflagged("A", "B", "W"));
    for (let n = 1; n <= 60; n++) {
      one.inventory.controllersListed(page("A"), n * hour);
      one.inventory.devicesListed(page("A"));
    }
    expect(one.codes()).toEqual(["A", "B", "W"]);
    expect(one.availability("B")).toBe("online");
    expect(one.inventory.mayForget("gone", 61 * hour)).toBe(false);
  });

  it("is no list of the account: what an earlier run kept stays", () => {
    const one = account();
    one.inventory.controllersListed(page("A"), 0);
    expect(one.inventory.isKnown).toBe(false);
    one.inventory.controllersListed(listed("A"), 1);
    expect(one.inventory.isKnown).toBe(true);
  });

  it("does not make the account empty where it is empty itself", () => {
    const one = account();
    one.inventory.controllersListed(page(), 0);
    expect(one.types()).toEqual([]);
    one.inventory.controllersListed([], 1);
    expect(one.types()).toEqual(["account_empty"]);
  });

  it("brings what it shows", () => {
    const one = account();
    one.inventory.controllersListed(page("A"), 0);
    one.inventory.controllersListed(page("B"), 1);
    expect(one.codes()).toEqual(["A", "B"]);
  });

  it("absence begins with the next whole list", () => {
    const one = account();
    one.inventory.controllersListed(listed("A", "B"), 0);
    one.inventory.devicesListed(unflagged("A"));
    one.inventory.controllersListed(page("A"), hour);
    one.inventory.controllersListed(listed("A"), 2 * hour);
    expect(one.availability("B")).toBe("offline");
  });
});

describe("a pest monitor", () =>
  it("has readings until it answered three times in a row without any", () => {
    const one = account();
    one.inventory.controllersListed([record({ code: "A", type: deviceType("V003") })], 0);
    const had = [0, 0, 5, 0, 0, 0].map((count) => {
      one.inventory.readingsAnswered("A", count);
      return one.inventory.hasReadings("A");
    });
    expect(had).toEqual([true, true, true, true, true, false]);
  }));

describe("what an earlier run kept", () => {
  it("the account is known from the first list that is not empty", () => {
    const one = account();
    one.inventory.controllersListed([], 0);
    one.inventory.devicesListed(unflagged("A"));
    expect(one.inventory.isKnown).toBe(false);
    one.inventory.controllersListed(listed("A"), 0);
    expect(one.inventory.isKnown).toBe(true);
  });

  it("may be forgotten at once where the configuration decides, else after 24 h of lists without it, never if configured", () => {
    const one = account(
      mirrorSettings([controllerSettings({ code: "I", ignore: true }), controllerSettings({ code: "K" })]),
    );
    one.inventory.controllersListed(listed("A"), hour);
    one.inventory.devicesListed(unflagged("A", "W"));
    const may = (at: number) =>
      ["A", "W", "K", "I", "gone"].filter((code) => one.inventory.mayForget(code, at));
    expect(may(hour)).toEqual(["I"]);
    expect(may(25 * hour - 1)).toEqual(["I"]);
    expect(may(25 * hour)).toEqual(["I", "gone"]);
  });
});
