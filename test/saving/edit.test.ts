import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type Change, editedText } from "../../src/saving/edit.js";
import { pathOf } from "../../src/settings/key.js";
import { Reference, type Written } from "../../src/saving/value-text.js";

const texts = new Set(["name", "address", "username"]);
const isText = (path: Change["path"]) => texts.has(String(path.at(-1)));

function edit(text: string, ...changes: readonly (readonly [key: string, value?: Written])[]): string {
  const edited = editedText(
    text,
    changes.map(([key, value]) => ({ path: pathOf(key) ?? [], value })),
    isText,
  );
  return edited.ok ? edited.text : `refused: ${String(edited.message)}`;
}

const file = `# My greenhouses
platform:
  business_url: "https://b.example"   # the first host
  token: !env TOKEN

# Who hears of it
mqtt: { url: 'mqtt://localhost:1883', username: bridge } # the NAS
controllers:
  GH-0001: # the old one
    name: East
    actuators:
      roof: { kind: skylight, address: 0012 }   # by the door
      fan:  { kind: machine, address: 140 }

  GH-0002: { ignore: true }
http:
  users:
    # she knows everything
    - { username: anna, role: operator }
    - username: ben
      role: viewer
polling:
`;

/** The lines that are not in both. */
function lines(
  before: string,
  after: string,
): { readonly out: readonly string[]; readonly put: readonly string[] } {
  const [old, now] = [before.split("\n"), after.split("\n")];
  return { out: old.filter((line) => !now.includes(line)), put: now.filter((line) => !old.includes(line)) };
}

const rows: readonly {
  readonly title: string;
  readonly change: readonly [key: string, value?: Written];
  readonly out?: readonly string[];
  readonly put?: readonly string[];
}[] = [
  {
    title: "a value keeps the remark behind it",
    change: ["platform.business_url", "https://c.example"],
    out: ['  business_url: "https://b.example"   # the first host'],
    put: ['  business_url: "https://c.example"   # the first host'],
  },
  {
    title: "a value keeps its quotes in one line",
    change: ["mqtt.url", "mqtt://it's:1"],
    out: ["mqtt: { url: 'mqtt://localhost:1883', username: bridge } # the NAS"],
    put: ["mqtt: { url: 'mqtt://it''s:1', username: bridge } # the NAS"],
  },
  {
    title: "a reference goes where a value comes",
    change: ["platform.token", "abc"],
    out: ["  token: !env TOKEN"],
    put: ["  token: abc"],
  },
  {
    title: "a value becomes a reference",
    change: ["mqtt.username", new Reference("mqtt_user")],
    out: ["mqtt: { url: 'mqtt://localhost:1883', username: bridge } # the NAS"],
    put: ["mqtt: { url: 'mqtt://localhost:1883', username: !secret mqtt_user } # the NAS"],
  },
  {
    title: "a key is added behind the last of its section",
    change: ["controllers.GH-0001.area", "East field"],
    put: ["    area: East field"],
  },
  {
    title: "a key is added within one line",
    change: ["controllers.GH-0001.actuators.roof.name", "Roof"],
    out: ["      roof: { kind: skylight, address: 0012 }   # by the door"],
    put: ["      roof: { kind: skylight, address: 0012, name: Roof }   # by the door"],
  },
  {
    title: "digits that are text need no quotes",
    change: ["controllers.GH-0001.actuators.fan.address", "0150"],
    out: ["      fan:  { kind: machine, address: 140 }"],
    put: ["      fan:  { kind: machine, address: 0150 }"],
  },
  {
    title: "an actuator is added in the form of its neighbours",
    change: ["controllers.GH-0001.actuators.valve", { kind: "irrigation", address: "210", name: "Bed 1" }],
    put: ["      valve: { kind: irrigation, address: 210, name: Bed 1 }"],
  },
  {
    title: "a new section stands in lines of its own",
    change: ["alarms.temperature.low", 5],
    put: ["alarms:", "  temperature: { low: 5 }"],
  },
  {
    title: "an empty section gets its first key",
    change: ["polling.sensors", "30s"],
    put: ["  sensors: 30s"],
  },
  { title: "a key goes with its line", change: ["controllers.GH-0001.name"], out: ["    name: East"] },
  {
    title: "a key goes out of its line",
    change: ["controllers.GH-0001.actuators.roof.kind"],
    out: ["      roof: { kind: skylight, address: 0012 }   # by the door"],
    put: ["      roof: { address: 0012 }   # by the door"],
  },
  {
    title: "the last key goes out of its line",
    change: ["mqtt.username"],
    out: ["mqtt: { url: 'mqtt://localhost:1883', username: bridge } # the NAS"],
    put: ["mqtt: { url: 'mqtt://localhost:1883' } # the NAS"],
  },
  {
    title: "a section goes with its lines",
    change: ["controllers.GH-0001.actuators"],
    out: [
      "    actuators:",
      "      roof: { kind: skylight, address: 0012 }   # by the door",
      "      fan:  { kind: machine, address: 140 }",
    ],
  },
  {
    title: "an item goes out of a list",
    change: ["http.users[0]"],
    out: ["    - { username: anna, role: operator }"],
  },
  {
    title: "an item of several lines goes out of a list",
    change: ["http.users[1]"],
    out: ["    - username: ben", "      role: viewer"],
  },
  {
    title: "the first key of an item goes",
    change: ["http.users[1].username"],
    out: ["    - username: ben", "      role: viewer"],
    put: ["    - role: viewer"],
  },
  {
    title: "an item is added to a list",
    change: ["http.users[2]", { username: "cleo", role: "admin" }],
    put: ["    - { username: cleo, role: admin }"],
  },
  {
    title: "an item of a list is changed",
    change: ["http.users[1].role", "admin"],
    out: ["      role: viewer"],
    put: ["      role: admin"],
  },
  {
    title: "a section as a whole keeps what is the same in it",
    change: ["controllers.GH-0001.actuators", { roof: { kind: "skylight", address: "0012", name: "Roof" } }],
    out: [
      "      roof: { kind: skylight, address: 0012 }   # by the door",
      "      fan:  { kind: machine, address: 140 }",
    ],
    put: ["      roof: { kind: skylight, address: 0012, name: Roof }   # by the door"],
  },
  {
    title: "a section becomes a word",
    change: ["http", false],
    out: [
      "http:",
      "  users:",
      "    # she knows everything",
      "    - { username: anna, role: operator }",
      "    - username: ben",
      "      role: viewer",
    ],
    put: ["http: false"],
  },
  { title: "what is not there needs no taking away", change: ["commands.read_only"] },
  {
    title: "a name with a dot is one name",
    change: ['controllers."GH.3".name', "West"],
    put: ["  GH.3: { name: West }"],
  },
  {
    title: "what may be misread is quoted",
    change: ["controllers.GH-0001.name", "off"],
    out: ["    name: East"],
    put: ['    name: "off"'],
  },
  {
    title: "names are written in every script",
    change: ["controllers.GH-0001.name", "东区 1 号"],
    out: ["    name: East"],
    put: ["    name: 东区 1 号"],
  },
  {
    title: "what nobody sees stands in quotes, outside of which it is refused",
    change: ["controllers.GH-0001.name", "\u{1f468}\u200d\u{1f33e} East"],
    out: ["    name: East"],
    put: ['    name: "\u{1f468}\u200d\u{1f33e} East"'],
  },
];

describe("a change of the user's own text", () => {
  it.each(rows)("$title", ({ change, out = [], put = [] }) => {
    const after = edit(file, change);
    expect(lines(file, after)).toEqual({ out, put });
  });

  it.each(rows)("line ends of Windows stay: $title", ({ change }) => {
    const windows = file.replaceAll("\n", "\r\n");
    expect(edit(windows, change)).toBe(edit(file, change).replaceAll("\n", "\r\n"));
  });

  it.each<readonly [text: string, key: string, value: Written, after: string]>([
    ['name: "East" # old', "name", "12", 'name: "12" # old'],
    ['name: "East"', "name", "0012", 'name: "0012"'],
    ['name: "East"', "name", 12, 'name: "12"'],
    ['name: "East"', "name", true, 'name: "true"'],
    ["name: 'East'", "name", "12", "name: '12'"],
    ['a: { address: "150", b: 1 }', "a.address", "151", 'a: { address: "151", b: 1 }'],
    ['a: [{ address: "150" }]', "a[0].address", "0151", 'a: [{ address: "0151" }]'],
    ['"0012": { address: "150" }', "0012.address", "151", '"0012": { address: "151" }'],
    ['a:\n  - "1"\n  - 2', "name", "3", 'a:\n  - "1"\n  - 2\nname: 3\n'],
    ['a: { address: "1", name: "2" }', "a", { address: "3", name: "4" }, 'a: { address: "3", name: "4" }'],
  ])("of %s, %s to %s: what was quoted stays quoted, whatever it becomes", (text, key, value, after) => {
    expect(edit(text, [key, value])).toBe(after);
  });

  it("of a list of texts: each keeps its quotes", () => {
    const path = ["topics"];
    const change = { path, value: ["01", "12", "null"] };
    const edited = editedText("topics: [\"1\", 2, '3']", [change], () => true);
    expect(edited).toEqual({ ok: true, text: "topics: [\"01\", 12, 'null']" });
  });

  it.each(["true", "null", "~", "1.5", "1e3", "0x1F", "-5", ".inf"])(
    "in place of digits without quotes, a text that would be read as something else is quoted: %s",
    (value) => {
      for (const old of ["150", "0150", "true", "", "|\n  x"])
        expect(parse(edit(`name: ${old}\nb: 1\n`, ["name", value]))).toEqual({ name: value, b: 1 });
    },
  );

  it("several at once, with positions as they were before", () => {
    const after = edit(
      file,
      ["http.users[0]"],
      ["http.users[1].role", "admin"],
      ["controllers.GH-0001.name", "West"],
    );
    expect(lines(file, after)).toEqual({
      out: ["    name: East", "    - { username: anna, role: operator }", "      role: viewer"],
      put: ["    name: West", "      role: admin"],
    });
  });

  it.each([
    ["an alias", "a: &x { name: 1 }\nb: *x\n", "b.name", /share one value/],
    ["an anchor", "a: &x { name: 1 }\nb: *x\n", "a.name", /share one value/],
    ["a merge key", "a:\n  <<: { name: x }\n  role: 1\n", "a.name", /share one value/],
    [
      "a section that stands in the file of secrets",
      "mqtt: !secret all\n",
      "mqtt.username",
      /!secret all stands for all of it/,
    ],
    ["a key that stands there twice", "a: 1\na: 2\n", "a", /twice/],
    ["a text that is no YAML", "a: [1\n", "a", /not valid YAML/],
    ["a section below a value", "a: 1\n", "a.b", /no section/],
    ["a place that a list does not have", "a: [1]\n", "a[3]", /its next one is \[1\]/],
  ])("is refused with a sentence: %s", (_, text, key, why) => {
    expect(edit(text, [key, "x"])).toMatch(why);
  });

  it("a file without an end of its last line gets one with what is added", () => {
    expect(edit("a: 1", ["b", 2])).toBe("a: 1\nb: 2\n");
    expect(edit("", ["b.c", 2])).toBe("b:\n  c: 2\n");
    expect(edit("a: 1\nb: 2", ["b"])).toBe("a: 1\n");
  });
});
