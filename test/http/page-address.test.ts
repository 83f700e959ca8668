import { describe, expect, it } from "vitest";
import type { Listener } from "../../src/http/access.js";
import {
  addressOf,
  pageAddressLines,
  pageAddressFor,
  ownAddresses,
  sshHint,
} from "../../src/http/page-address.js";
import { loaded, platform } from "../config/loading.js";

const listenerOf = async (text: string): Promise<Listener | false> =>
  (await loaded(`${platform}http: ${text}\n`)).configuration.http;

const users = (...roles: readonly string[]) =>
  `users: [${roles.map((role, at) => `{ username: u${at}, password: !env TOKEN, role: ${role} }`).join(", ")}]`;

const untilMade =
  "nobody may command there until an operator is made, with the code that `greenhouse2mqtt run` prints, or named by http.users";

describe("where the page is and who may command there", () => {
  it.each([
    ["{}", "http://127.0.0.1:8099/", untilMade],
    ["{ host: ::1 }", "http://[::1]:8099/", untilMade],
    [
      `{ ${users("viewer")} }`,
      "http://127.0.0.1:8099/",
      "nobody may command there until http.users names an operator",
    ],
    [
      `{ host: 0.0.0.0, ${users("operator", "viewer", "operator")} }`,
      "http://192.0.2.7:8099/",
      "u0, u2 may command there",
    ],
    [`{ host: 192.0.2.9, ${users("operator")} }`, "http://192.0.2.9:8099/", "u0 may command there"],
    [
      "{ ingress: { enabled: true, role: operator } }",
      "http://127.0.0.1:8099/",
      "the users of Home Assistant may command there",
    ],
  ])("%s", async (text, url, commanders) => {
    expect(pageAddressFor(await listenerOf(text), 8099, ["192.0.2.7", "192.0.2.8"])).toEqual({
      url,
      commanders,
    });
  });

  it.each(["false", "{ page: false }", "{ host: 0.0.0.0 }"])("nothing is said with %s", async (text) => {
    const listener = await listenerOf(text);
    expect(pageAddressLines(listener, 8099, { SSH_CONNECTION: "192.0.2.1 50000 192.0.2.7 22" })).toEqual([]);
  });
});

it("a system that forbids to ask for the addresses costs the addresses and nothing else", () => {
  const forbidden = () => {
    throw new Error("uv_interface_addresses returned Unknown system error 97");
  };
  expect(ownAddresses(forbidden)).toEqual([]);
  expect(addressOf("0.0.0.0", 8099, ownAddresses(forbidden))).toBe("http://127.0.0.1:8099/");
});

describe("over SSH, of a page for this computer alone, it is said how to get there", () => {
  const env = { SSH_CONNECTION: "192.0.2.1 50000 192.0.2.7 22", USER: "pi" };

  it.each([
    ["127.0.0.1", env, "ssh -L 8100:127.0.0.1:8100 pi@192.0.2.7 "],
    ["::1", env, "ssh -L 8100:[::1]:8100 pi@192.0.2.7 "],
    [
      "localhost",
      { SSH_CONNECTION: "a 1 192.0.2.7 2222" },
      "ssh -p 2222 -L 8100:127.0.0.1:8100 user@192.0.2.7 ",
    ],
  ])("%s", (host, around, command) => {
    expect(String(sshHint({ host }, 8100, around))).toContain(command);
  });

  it("and nothing where other computers reach it, or without SSH", () => {
    expect(sshHint({ host: "0.0.0.0" }, 8100, env)).toBeNull();
    expect(sshHint({ host: "127.0.0.1" }, 8100, {})).toBeNull();
  });
});
