import { describe, expect, it } from "vitest";
import {
  bdSeqAfter,
  onDeviceChange,
  deviceGone,
  hostSpoke,
  leftUnborn,
  onLinked,
  newSession,
  nextMessage,
  onRebirthRequest,
  rebirthEveryMs,
  onSent,
  type Session,
  sessionWakesAt,
  unsentRestsMs,
  onUnlinked,
} from "../../src/sparkplug/session.js";

const words = {
  node_birth: "NBIRTH",
  node_data: "NDATA",
  device_birth: "DBIRTH",
  device_data: "DDATA",
  device_death: "DDEATH",
} as const;

/** Everything that is due, each with its number. */
function said(session: Session, now = 0): readonly string[] {
  const all: string[] = [];
  for (let message = nextMessage(session, now); message !== null; message = nextMessage(session, now)) {
    const device = "device" in message ? ` ${message.device}` : "";
    all.push(`${session.nextSeq} ${words[message.type]}${device}`);
    onSent(session);
  }
  return all;
}

/** A settled session with a link and living devices. */
function session({ awaitsHost = false, devices = ["a", "b"] } = {}): Session {
  const made = newSession(awaitsHost);
  made.isSettled = true;
  onLinked(made, 3);
  for (const name of devices) onDeviceChange(made, name, true, false);
  return made;
}

function born(): Session {
  const made = session();
  said(made);
  return made;
}

describe("a session", () => {
  it("begins with the birth of the node and of each living device, numbered from 0", () => {
    const made = session();
    onDeviceChange(made, "dead", false, false);
    expect(said(made)).toEqual(["0 NBIRTH", "1 DBIRTH a", "2 DBIRTH b"]);
    expect(said(made)).toEqual([]);
  });

  it.each<[string, (made: Session) => void]>([
    ["a link", onUnlinked],
    ["the first reading", (made) => (made.isSettled = false)],
  ])("says nothing without %s", (_, without) => {
    const made = session();
    without(made);
    expect(said(made)).toEqual([]);
  });

  it("numbers node and devices together, and 255 is followed by 0", () => {
    const made = born();
    const all = Array.from({ length: 300 }, () => {
      onDeviceChange(made, "a", true, false);
      return said(made);
    }).flat();
    expect(all[0]).toBe("3 DDATA a");
    expect(all.slice(252, 254)).toEqual(["255 DDATA a", "0 DDATA a"]);
  });

  it("tells births and deaths before data, and data of the node before those of devices", () => {
    const made = born();
    onDeviceChange(made, "a", true, false);
    made.isNodeDue = true;
    onDeviceChange(made, "b", false, false);
    onDeviceChange(made, "c", true, false);
    expect(said(made)).toEqual(["3 DDEATH b", "4 DBIRTH c", "5 NDATA", "6 DDATA a"]);
  });

  it("tells a change that only a birth can tell by a birth, and the data due with it", () => {
    const made = born();
    onDeviceChange(made, "a", true, false);
    onDeviceChange(made, "a", true, true);
    expect(said(made)).toEqual(["3 DBIRTH a"]);
  });

  it("tells a device that is removed dead once, and knows it no more", () => {
    const made = born();
    deviceGone(made, "a");
    expect(said(made)).toEqual(["3 DDEATH a"]);
    expect([...made.devices.keys()]).toEqual(["b"]);
    deviceGone(made, "unknown");
    expect(said(made)).toEqual([]);
  });

  it("a device that went and came again meanwhile is born again", () => {
    const made = born();
    onDeviceChange(made, "a", false, false);
    onDeviceChange(made, "a", true, false);
    expect(said(made)).toEqual(["3 DBIRTH a"]);
  });

  it("tries a birth that could not be sent again where the device changes ten minutes later, and not at every reading", () => {
    const made = born();
    onDeviceChange(made, "a", true, true);
    expect(said(made, 1_000)).toEqual(["3 DBIRTH a"]);
    leftUnborn(made, "a", 1_000);
    const reading = (now: number) => {
      onDeviceChange(made, "a", true, false);
      return said(made, now);
    };
    expect([reading(2_000), reading(1_000 + unsentRestsMs - 1)]).toEqual([[], []]);
    expect(reading(1_000 + unsentRestsMs)).toEqual(["4 DBIRTH a"]);
    expect(reading(1_001 + unsentRestsMs)).toEqual(["5 DDATA a"]);
  });

  it("tries a birth that could not be sent again on the next link, whatever changes", () => {
    const made = born();
    leftUnborn(made, "a", 0);
    onUnlinked(made);
    onLinked(made, 4);
    expect(said(made)).toEqual(["0 NBIRTH", "1 DBIRTH a", "2 DBIRTH b"]);
  });

  it("begins anew with each link", () => {
    const made = born();
    onDeviceChange(made, "a", true, false);
    onUnlinked(made);
    onLinked(made, 4);
    expect([said(made), made.bdSeq]).toEqual([["0 NBIRTH", "1 DBIRTH a", "2 DBIRTH b"], 4]);
  });
});

describe("a rebirth", () => {
  it("is the whole birth from 0, under the same bdSeq, at once the first time", () => {
    const made = born();
    onDeviceChange(made, "a", true, false);
    onRebirthRequest(made);
    expect([said(made), made.bdSeq]).toEqual([["0 NBIRTH", "1 DBIRTH a", "2 DBIRTH b"], 3]);
  });

  it("is told at most once in five seconds; the request that comes earlier is answered then, and data wait for it", () => {
    const made = born();
    onRebirthRequest(made);
    said(made, 10_000);
    for (let n = 0; n < 1_000; n += 1) onRebirthRequest(made);
    onDeviceChange(made, "a", true, false);
    expect([said(made, 10_001), sessionWakesAt(made)]).toEqual([[], 10_000 + rebirthEveryMs]);
    expect(said(made, 15_000)).toHaveLength(3);
    expect([said(made, 15_001), sessionWakesAt(made)]).toEqual([[], null]);
  });

  it("that is asked for before the first birth is that birth", () => {
    const made = session();
    onRebirthRequest(made);
    expect(said(made)).toHaveLength(3);
    expect(said(made, 60_000)).toEqual([]);
  });
});

describe("with a primary host", () => {
  const online = (timestamp: number | null) => ({ isOnline: true, timestamp });
  const offline = (timestamp: number | null) => ({ isOnline: false, timestamp });
  /** What each word of the host brings. */
  const heard = (...told: readonly Parameters<typeof hostSpoke>[1][]) => {
    const made = session({ awaitsHost: true, devices: [] });
    return told.map((word) => [hostSpoke(made, word), said(made).length]);
  };

  it("births wait until it says that it is online", () => {
    expect(said(session({ awaitsHost: true }))).toEqual([]);
    expect(heard(offline(1), online(2))).toEqual([
      [false, 0],
      [false, 1],
    ]);
  });

  it.each<[string, Parameters<typeof hostSpoke>[1][], boolean]>([
    ["of the same time ends the session", [online(5), offline(5)], true],
    ["of a later time ends the session", [online(5), offline(6)], true],
    ["of an earlier time changes nothing", [online(5), offline(4)], false],
    ["of version 2 changes nothing once one with a time was heard", [online(5), offline(null)], false],
    ["of version 2 ends the session of another of version 2", [online(null), offline(null)], true],
  ])("an offline %s", (_, told, ends) => {
    expect(heard(...told).at(-1)?.[0]).toBe(ends);
  });

  it("an earlier online does not bring it back, and what it said holds for its link alone", () => {
    const made = session({ awaitsHost: true });
    hostSpoke(made, offline(9));
    hostSpoke(made, online(8));
    expect(said(made)).toEqual([]);
    onUnlinked(made);
    onLinked(made, 4);
    hostSpoke(made, online(8));
    expect(said(made)).toHaveLength(3);
  });
});

it.each([
  [null, 0],
  [0, 1],
  [254, 255],
  [255, 0],
])("after the bdSeq %s comes %s", (before, after) => expect(bdSeqAfter(before)).toBe(after));
