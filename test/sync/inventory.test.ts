import anyAscii from "any-ascii";
import { describe, expect, it } from "vitest";
import { deviceType } from "../../src/greenhouse/device-types.js";
import type { DeviceRecord } from "../../src/greenhouse/ports.js";
import type { MirrorSettings } from "../../src/greenhouse/settings.js";
import type { TextFile } from "../../src/runtime/file-system.js";
import { Inventory, type InventoryNews } from "../../src/sync/inventory.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { controllerSettings, record } from "../support/builders.js";
import { hour, mirrorSettings } from "../support/polled-mirror.js";
import { VirtualClock } from "../support/virtual-clock.js";

const listed = (codes: readonly string[], over: Partial<DeviceRecord> = {}): DeviceRecord[] =>
  codes.map((code) => record({ code, name: `House ${code}`, ...over }));

/** What is kept over a restart; a text, as a file is. */
const memoryOf = (kept: { text: string | null; writes?: number }): TextFile => ({
  read: () => Promise.resolve(kept.text),
  write: (text) => {
    kept.text = text;
    kept.writes = (kept.writes ?? 0) + 1;
    return Promise.resolve();
  },
});

function account(settings: MirrorSettings = mirrorSettings(), memory?: TextFile) {
  const clock = new VirtualClock();
  const store = new GreenhouseStore(settings, clock, anyAscii);
  store.setReachable(true);
  for (const { code, ignore } of settings.controllers.values()) if (!ignore) store.admit(code);
  const news: InventoryNews[] = [];
  const inventory = new Inventory(store, () => 3 * hour, memory);
  inventory.onNews((one) => {
    if (one.type !== "listed") news.push(one);
  });
  const id = (code: string) => store.get(code)?.info.id;
  let hours = 0;
  /** `A B`: the controllers, an hour after those before; `/A W`: other devices; with `…` a page of a longer list. */
  const answer = (...lists: string[]) => {
    for (const list of lists) {
      const codes = list.match(/[^\s/…]+/g) ?? [];
      const isDevices = list.startsWith("/");
      const records = listed(codes, isDevices ? { online: null } : {});
      const given = list.endsWith("…") ? Object.assign(records, { isPage: true }) : records;
      if (isDevices) inventory.onDevices(given);
      else inventory.onControllers(given, hours++ * hour);
    }
  };
  return {
    ...{ clock, store, inventory, news, id, answer },
    /** `A online, B offline`. */
    shown: () => {
      const all = [...store.controllers()].map(({ info, availability }) => `${info.code} ${availability}`);
      return all.sort().join(", ");
    },
    told: () => news.map((one) => ("code" in one ? `${one.type} ${one.code}` : one.type)).join(", "),
  };
}

const times = (count: number, ...lists: string[]) => Array.from({ length: count }, () => lists).flat();
const configured = (...codes: string[]) => mirrorSettings(codes.map((code) => controllerSettings({ code })));

it("a controller of the configuration is told once, when a list has it for the first time", () => {
  const one = account(configured("A"));
  one.answer("A B", "A B");
  expect(one.told()).toBe("found A, added B");
});

it.each([
  [true, "online", "added A"],
  // Offline is worth a question first.
  [false, "unknown", "added A, doubted A"],
  [null, "unknown", "added A"],
] as const)("the controller's own flag %j is %s", (online, availability, told) => {
  const one = account();
  one.inventory.onControllers(listed(["A"], { online }), 0);
  expect([one.shown(), one.told()]).toEqual([`A ${availability}`, told]);
});

it("a list's offline is asked about once for each list, and taken where nothing else could be learnt before the next", () => {
  const one = account();
  one.answer("A");
  for (const [availability, told] of [
    ["online", "added A, doubted A"],
    ["offline", "added A, doubted A, settled A"],
  ]) {
    one.inventory.onControllers(listed(["A"], { online: false }), 1);
    expect([one.shown(), one.told()]).toEqual([`A ${availability}`, told]);
  }
});

it("a list's offline that the next list takes back needs no question any more", () => {
  const one = account();
  one.answer("A");
  for (const online of [false, true, true]) one.inventory.onControllers(listed(["A"], { online }), 1);
  expect([one.shown(), one.told()]).toEqual(["A online", "added A, doubted A, settled A"]);
});

describe("one of the configuration that no list holds", () => {
  it("is offline once it had time to answer, and gave no readings", () => {
    const one = account(configured("W"));
    one.answer("A", "/A", "A");
    expect(one.shown()).toBe("A online, W unknown");
    one.inventory.onReadings("W", 0);
    one.answer("A");
    expect(one.shown()).toBe("A online, W offline");
  });

  it("is offline after a day of lists without it where the list of devices never comes", () => {
    const one = account(configured("W"));
    one.answer(...times(24, "A"));
    expect(one.shown()).toBe("A online, W unknown");
    one.answer("A", "A");
    expect(one.shown()).toBe("A online, W offline");
    one.answer(...times(48, "A"));
    expect(one.shown()).toBe("A online, W offline");
  });

  it("is not while it has readings, also where the list of devices never comes", () => {
    const one = account(configured("W"));
    one.answer("A");
    one.inventory.onReadings("W", 3);
    one.answer(...times(30, "A"));
    expect(one.shown()).toBe("A online, W unknown");
  });

  it("is no more known than any device without a flag while it has readings, also where these come late", () => {
    const one = account(configured("W"));
    one.answer("A", "/A", "A", "A");
    expect(one.shown()).toBe("A online, W offline");
    one.inventory.onReadings("W", 3);
    expect(one.shown()).toBe("A online, W unknown");
    one.answer("A", "A");
    expect(one.shown()).toBe("A online, W unknown");
  });
});

const both = ["A B", "/A B"];
const [listedOnly, ignoring] = [
  mirrorSettings([controllerSettings({ code: "A" })], { mirror: "listed" }),
  mirrorSettings([controllerSettings({ code: "A", ignore: true })]),
];

describe("the account's lists", () =>
  it.each<[rule: string, lists: readonly string[], shown: string, told?: string, settings?: MirrorSettings]>([
    ["a new controller is mirrored, and told once", ["A", "A B"], "A online, B online", "added A, added B"],
    ["a device only in /api/device is of unknown availability", ["A", "/A W", "A"], "A online, W unknown"],
    [
      "a device that left the list with flags is asked about",
      ["/A B", "A B", "B"],
      "A unknown, B online",
      "doubted A",
    ],
    [
      "one that left its own list is unknown at once, though /api/device has it",
      [...both, "A"],
      "A online, B unknown",
    ],
    ["and online when it is back", [...both, "A", "A B"], "A online, B online"],
    ["an ignored controller is never mirrored", ["A B", "/C"], "B online, C unknown", "", ignoring],
    ["with mirror: listed only those of the configuration are", ["A B", "/C"], "A online", "", listedOnly],
    [
      "left out of all it is offline at once, and not removed within 24 h",
      [...both, ...times(24, "/A", "A")],
      "A online, B offline",
    ],
    ["it is removed after 24 h of such lists", [...both, ...times(25, "/A", "A")], "A online", "removed B"],
    ["also where /api/device has never answered", ["A B", ...times(30, "A")], "A online"],
    ["also where /api/device lists nothing", ["A B", "/", ...times(30, "A")], "A online"],
    ["also where only /api/device had it", ["A", "/A W", "/A", ...times(26, "A")], "A online"],
    [
      "it counts anew when a list had it in between",
      ["A B", ...times(20, "A"), "A B", ...times(24, "A")],
      "A online, B offline",
    ],
    [
      "it comes back under its old id",
      [...both, ...times(30, "/A", "A"), "A B"],
      "A online, B online",
      "added B",
    ],
    [
      "an empty list counts for nothing and raises account_empty",
      [...both, "/A", "A", ...times(60, "", "/")],
      "A online, B offline",
      "account_empty",
    ],
    [
      "a page makes nothing absent, however long",
      ["A B", "/A B", ...times(60, "A…", "/A…")],
      "A online, B online",
    ],
    [
      "nor does it remove what a whole list left out before",
      ["A B", "/A", "A", ...times(60, "A…")],
      "A online, B offline",
    ],
    [
      "hours without such a list count no more than three of them",
      ["A B", "/A", "A", ...times(60, ""), "A"],
      "A online, B offline",
    ],
    [
      "nor do hours of pages before the next whole list",
      ["A B", "/A", "A", ...times(60, "A…"), "A"],
      "A online, B offline",
    ],
    [
      "what was counted before them stays counted",
      ["A B", "/A", ...times(20, "A"), ...times(60, ""), "A", "A", "A"],
      "A online",
      "removed B",
    ],
    ["a page brings what it shows", ["A…", "B…"], "A online, B online"],
    ["absence begins with the next whole list after a page", ["A B", "/A", "A…", "A"], "A online, B offline"],
    [
      "one of the configuration is never removed",
      ["A B", ...times(100, "/A", "A")],
      "A online, B offline, C offline",
      "",
      configured("B", "C"),
    ],
  ])("%s", (_rule, lists, shown, told, settings) => {
    const one = account(settings);
    one.answer(...lists);
    expect(one.shown()).toEqual(shown);
    if (told) expect(one.told().endsWith(told)).toBe(true);
    if (one.id("B") !== undefined) expect(one.id("B")).toBe("b");
  }));

describe("the list of videos", () => {
  const stream = (code: string, hls: string | null) => [record({ code, hls })];
  const withStream = mirrorSettings([controllerSettings({ code: "CAM", stream: true })]);

  it("gives the address that other lists leave out, before and after them, and makes no device known", () => {
    const { inventory, store, answer } = account(withStream);
    inventory.onVideos(stream("CAM", "https://cam/1"));
    inventory.onVideos([...stream("CAM", "https://cam/1"), ...stream("OTHER", "https://other")]);
    answer("A CAM");
    expect(store.get("CAM")?.info.stream).toBe("https://cam/1");
    answer("A CAM");
    expect(store.get("CAM")?.info.stream).toBe("https://cam/1");
    inventory.onVideos(stream("CAM", "https://cam/2"));
    expect(store.get("CAM")?.info.stream).toBe("https://cam/2");
    expect(store.get("OTHER")).toBeUndefined();
  });

  it("shows nothing of a device without `stream: true`", () => {
    const { inventory, store, answer } = account();
    answer("CAM");
    inventory.onVideos(stream("CAM", "https://cam/1"));
    expect(store.get("CAM")?.info.stream).toBeNull();
  });
});

describe("a controller that is absent over restarts", () => {
  /** One run after another, each with these lists, an hour apart; what each showed and told at its end. */
  async function runs(...all: (readonly string[])[]) {
    const kept = { text: null as string | null };
    const ends: string[] = [];
    for (const lists of all) {
      const one = account(configured(), memoryOf(kept));
      await one.inventory.restore();
      one.answer(...lists);
      ends.push(`${one.shown()}: ${one.told()}`);
    }
    return { ends, kept };
  }

  it("is removed after 24 h of whole lists without it, counted over all of them", async () => {
    const { ends } = await runs(
      [...both, ...times(11, "/A", "A")],
      times(8, "/A", "A"),
      times(8, "/A", "A"),
      times(3, "/A", "A"),
    );
    expect(ends).toEqual([
      "A online, B offline: added A, added B",
      "A online, B offline: added A, absent B",
      "A online: added A, absent B, removed B",
      "A online: added A",
    ]);
  });

  it("is not offline for a moment while the list that it stands in has not come, and counts anew once it was listed", async () => {
    const { ends, kept } = await runs([...both, ...times(20, "/A", "A")], ["A", "/A B", "A B"]);
    expect(ends[1]).toBe("A online, B online: added A, added B");
    expect(kept.text).toBe("{}");
  });

  it("is kept under its name, and without the address of its stream, which may hold a password", async () => {
    const kept = { text: null as string | null };
    const first = account(configured(), memoryOf(kept));
    const house = record({ code: "B", name: "West house", hls: "rtsp://user:secret@b/1" });
    first.inventory.onControllers([record({ code: "A" }), house], 0);
    first.answer("/A", "A");
    expect(kept.text).not.toContain("secret");
    const second = account(configured(), memoryOf(kept));
    await second.inventory.restore();
    second.answer("/A", "A");
    expect(second.store.get("B")?.info).toMatchObject({ name: "West house", id: "b" });
  });

  it("that the configuration names or no longer wants is not kept", async () => {
    const kept = { text: null as string | null };
    account(configured("B"), memoryOf(kept)).answer("A B", "/A", "A");
    expect(kept.text).toBe(null);
    account(configured(), memoryOf(kept)).answer("A B", "/A", "A");
    const ignored = mirrorSettings([controllerSettings({ code: "B", ignore: true })]);
    const later = account(ignored, memoryOf(kept));
    await later.inventory.restore();
    later.answer("/A", "A");
    expect([later.shown(), kept.text]).toEqual(["A online", "{}"]);
  });

  it.each(["", "{", "[]", "null", '{"B":1}', '{"B":{"absent_ms":"x","record":{}}}', '{"B":{"absent_ms":1}}'])(
    "a file that holds %j is as none",
    async (text) => {
      const one = account(configured(), memoryOf({ text }));
      await one.inventory.restore();
      one.answer("/A", "A");
      expect(one.shown()).toBe("A online");
    },
  );

  it("costs no write while nobody is absent", () => {
    const kept = { text: null, writes: 0 };
    account(configured(), memoryOf(kept)).answer(...times(50, "A B", "/A"));
    expect(kept.writes).toBe(0);
  });
});

it("a renamed controller is the same one under its new name", () => {
  const one = account();
  one.answer("A");
  const id = one.id("A");
  one.inventory.onControllers([record({ code: "A", name: "West" })], 1);
  expect(one.store.get("A")?.info).toMatchObject({ id, name: "West" });
  expect(one.told()).toEqual("added A");
});

it("a controller that left every list goes offline at once, not by way of unknown; a clock that is set removes nothing", () => {
  const one = account();
  one.answer("A B");
  const seen: unknown[] = [];
  one.store.onChange((_, after) => seen.push(after?.availability));
  one.answer("A");
  one.clock.setWall(one.clock.now() + 3650 * 24 * hour);
  one.answer("A");
  expect(one.shown()).toEqual("A online, B offline");
  expect(seen).not.toContain("unknown");
});

it.each([
  ["C001", [0, 0, 0, 0], "usual usual usual usual"],
  ["V009", [5], "none"],
  ["X9", [0], "usual"],
  ["W003", [0, 0], "usual usual"],
  // A pest monitor may have readings although it answered three times in a row without any; a code nobody knows may be one.
  ["V003", [0, 0, 5, 0, 0, 0, 1], "usual usual usual usual usual rare usual"],
  ["V001", [0, 5, 0], "rare usual rare"],
])("a %s that answers %j is asked for readings: %s", (type, answers, has) => {
  const one = account();
  one.inventory.onControllers(listed(["A"], { type: deviceType(type) }), 0);
  const had = answers.map((count) => {
    one.inventory.onReadings("A", count);
    return one.inventory.readingsOf("A");
  });
  expect(had.join(" ")).toBe(has);
});

describe("what an earlier run kept", () => {
  it("the account is known from the first whole list that is not empty; an empty page does not make it empty", () => {
    const one = account();
    const known = ["…", "", "/A", "A…", "A"].map((list) => {
      one.answer(list);
      return `${one.inventory.isKnown} ${one.told().includes("account_empty")}`;
    });
    expect(known).toEqual(["false false", "false true", "false true", "false true", "true true"]);
  });

  it("may be forgotten at once where the configuration decides, else after 24 h of whole lists without it, never if configured", () => {
    const ignored = controllerSettings({ code: "I", ignore: true });
    const one = account(mirrorSettings([ignored, controllerSettings({ code: "K" })]));
    one.answer("A", "/A W");
    const may = () => ["A", "W", "K", "I", "gone"].filter((code) => one.inventory.mayForget(code));
    expect(may()).toEqual(["I"]);
    one.answer(...times(23, "A"), ...times(60, "", "A…"), "");
    expect(may()).toEqual(["I"]);
    one.answer("A");
    expect(may()).toEqual(["I", "gone"]);
    one.answer(...times(30, "A…"));
    expect(may()).toEqual(["I"]);
  });
});
