import { describe, expect, it } from "vitest";
import type { ControllerEvent } from "../../src/greenhouse/events.js";
import type { Availability } from "../../src/greenhouse/model.js";
import { type Connection, foldFlag, hasOwnClient } from "../../src/greenhouse/reduce.js";
import { clientStatus, controller, record } from "../support/builders.js";
import { after, start } from "../support/folding.js";

type By = Connection["availabilityBy"];
type Row = [
  name: string,
  shown: [Availability, By, Availability | null],
  flag: Availability,
  then: [Availability, By, Availability | null],
];

const connection = ([availability, availabilityBy, doubted]: Row[1]): Connection => ({
  ...{ availability, availabilityBy, doubted },
});

describe("a list's flag", () =>
  it.each<Row>([
    ["online where nothing is known", ["unknown", "list", null], "online", ["online", "list", null]],
    ["offline where nothing is known", ["unknown", "list", null], "offline", ["unknown", "list", "offline"]],
    ["the same", ["online", "list", null], "online", ["online", "list", null]],
    ["a change to offline", ["online", "list", null], "offline", ["online", "list", "offline"]],
    ["offline again, unread between", ["online", "list", "offline"], "offline", ["offline", "list", null]],
    ["online again, unread between", ["online", "list", "offline"], "online", ["online", "list", null]],
    ["back, after lists alone said offline", ["offline", "list", null], "online", ["online", "list", null]],
    ["online against the status", ["offline", "status", null], "online", ["offline", "status", "online"]],
    ["the same twice, unread", ["offline", "status", "online"], "online", ["online", "list", null]],
    ["offline against the status", ["online", "status", null], "offline", ["online", "status", "offline"]],
    ["none, known from a list", ["online", "list", null], "unknown", ["unknown", "list", null]],
    ["none, known from the status", ["online", "status", null], "unknown", ["online", "status", null]],
  ])("%s", (_, shown, flag, then) => expect(foldFlag(connection(shown), flag)).toEqual(connection(then))));

const listed = (online: boolean | null): ControllerEvent => ({
  type: "listed",
  record: record({ online }),
  availability: online === null ? "unknown" : online ? "online" : "offline",
});
const status = (state: "online" | "offline" | "unknown"): ControllerEvent => ({
  type: "connection",
  status: clientStatus(state),
});
const unseen = controller();
const seen = (...events: ControllerEvent[]) => after(unseen, start, ...events);

describe("the single-device status", () => {
  it.each<[string, ControllerEvent[], Availability]>([
    ["says so too", [listed(true), listed(false), status("offline")], "offline"],
    ["says otherwise", [listed(true), listed(false), status("online")], "online"],
    ["says otherwise, and so does every list", [listed(false), status("online"), listed(false)], "online"],
    ["could not be read, and the next list", [listed(true), listed(false), status("unknown")], "online"],
    [
      "could not be read before the next list",
      [listed(true), listed(false), status("unknown"), listed(false)],
      "offline",
    ],
    ["of a device without a flag", [listed(null), status("online")], "online"],
    [
      "of one without a flag, after it was seen",
      [listed(null), status("online"), status("offline")],
      "offline",
    ],
    ["of one that may have no client at all", [listed(null), status("offline")], "unknown"],
    [
      "of one that left every list",
      [listed(true), { type: "absent", since: 1 }, status("online")],
      "offline",
    ],
    ["is older than the list left it", [listed(true), { type: "unflagged" }, status("offline")], "offline"],
  ])("%s", (_, events, availability) => expect(seen(...events).availability).toBe(availability));

  it("has to be asked again only of a device that has a client and no flag", () => {
    expect(hasOwnClient(seen(listed(null), status("online")))).toBe(true);
    expect(hasOwnClient(seen(listed(null), status("offline")))).toBe(false);
    expect(hasOwnClient(seen(listed(true), status("online")))).toBe(false);
  });
});
