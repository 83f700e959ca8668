import { describe, expect, it } from "vitest";
import { Fallback } from "../../src/config/fallback.js";
import { type Configuration, configurationSchema } from "../../src/config/schema.js";

const hosts = { business_url: "https://b.example", realtime_url: "https://r.example", token: "canary-token" };
const configuration = (more: object = {}): Configuration =>
  configurationSchema.parse({ platform: hosts, ...more });

const good = configuration();
const bad = configuration({ mirror: "listed" });
const users = { users: [{ username: "anna", password: "some-password", role: "admin" }] };

describe("a configuration that is read again", () => {
  it.each([
    ["the one in force", good, { isRefused: false, isKnown: true, keys: [] }],
    ["what counts at once", configuration({ updates: true }), { isKnown: true, keys: [] }],
    ["what takes a new run", bad, { isRefused: false, isKnown: false, keys: ["mirror"] }],
  ])("%s", (_, read, judged) => {
    expect(new Fallback().judge(good, read)).toMatchObject(judged);
  });

  it("is known where it is the one before what is tried, also where that is in force", () => {
    const fallback = new Fallback();
    fallback.keep(good);
    fallback.keep(configuration({ data_dir: "never came up" }));
    expect(fallback.judge(bad, good)).toMatchObject({ isKnown: true, keys: ["mirror"] });
    expect(fallback.judge(bad, bad)).toMatchObject({ isKnown: false, keys: [] });
  });

  it("is refused where the bridge did not come up by it, until a key that takes a run is another one", () => {
    const fallback = new Fallback(good);
    expect(fallback.refuse(bad)).toEqual(good);
    expect(fallback.refuse(bad)).toBeNull();
    const again = configuration({ mirror: "listed", http: users });
    expect(fallback.judge(good, again).isRefused).toBe(true);
    expect(fallback.taken(good, again)).toEqual(configuration({ http: users }));
    const other = configuration({ mirror: "listed", data_dir: "other" });
    expect(fallback.taken(good, other)).toBe(other);
    expect(fallback.judge(good, bad).isRefused).toBe(false);
  });

  it("that is refused names what would count at once and waits for the rest of it", () => {
    const skylight = { id: "east", actuators: { roof: { kind: "skylight", address: "101" } } };
    const read = { groups: { roofs: { members: ["east/roof"] } }, updates: true };
    const fallback = new Fallback(good);
    fallback.refuse(configuration({ mirror: "listed", controllers: { "GH-0001": skylight } }));
    const again = configuration({ mirror: "listed", controllers: { "GH-0001": skylight }, ...read });
    expect(fallback.judge(good, again)).toMatchObject({ isRefused: true, waiting: ["groups.roofs"] });
    expect(fallback.judge(again, again)).toMatchObject({ waiting: [] });
  });

  it("is followed by another before the former one runs again, which is known then, too", () => {
    const fallback = new Fallback(good);
    fallback.refuse(bad);
    fallback.taken(good, configuration({ data_dir: "other" }));
    expect(fallback.refuse(configuration({ data_dir: "other" }))).toEqual(good);
  });

  it("that is gone back from leaves in force what counts at once", () => {
    const fallback = new Fallback(configuration({ http: users }));
    expect(fallback.refuse(configuration({ mirror: "listed" }))).toEqual(configuration());
  });
});
