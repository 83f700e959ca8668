import { msg } from "../language/text.js";
import { z } from "zod";
import { isPasswordHash } from "../runtime/passwords.js";
import { atKey, type Finding, when } from "../settings/problem.js";
import { suggestion } from "../runtime/similar-words.js";
import { features } from "./features.js";
import { expecting } from "../settings/values.js";
import { type Draft, sectionOf, sectionsAt } from "../settings/draft.js";
import { hasUsers, isOpen, plainPassword, soundUsers } from "../settings/users.js";

/* The page of all accounts of a fleet: who sees what. */

/** `false`, or where it is served. */
export const fleetHttpSection = z.union([z.literal(false), features.http.ofFleet], {
  error: expecting(msg`false or a section of keys with values`),
});

export type FleetHttp = z.output<typeof fleetHttpSection>;

export function soundFleetPage(root: Draft): Finding[] {
  const http = sectionOf(root, "http");
  const hasSomebody = hasUsers(http) || "token" in http;
  const nobody = sectionsAt(root, "http.users.*").flatMap(({ path, section }) =>
    when(
      Array.isArray(section.accounts) && section.accounts.length === 0,
      [...path, "accounts"],
      msg`such a user sees nothing: name an account, or leave the key out for all of them`,
    ),
  );
  return [
    ...soundUsers({ http }, "http"),
    ...nobody,
    ...when(
      isOpen(http) && !hasSomebody,
      ["http", "host"],
      msg`other machines can reach this address, so http.users must name who may see the accounts; or listen at 127.0.0.1`,
    ),
  ];
}

/** What works but is probably not wanted; `accounts`: the names of all accounts. */
export function fleetPageDoubts(http: FleetHttp, accounts: readonly string[]): Finding[] {
  if (http === false) return [];
  return http.users.flatMap(({ password, accounts: own = [] }, at) => [
    ...when(!isPasswordHash(password), ["http", "users", at, "password"], plainPassword),
    ...own.flatMap((name, place) =>
      when(
        !accounts.includes(name),
        ["http", "users", at, "accounts", place],
        msg`there is no account "${name}"${suggestion(name, accounts)}`,
      ),
    ),
  ]);
}

/** Reports an account whose own page has the port of the fleet's page. */
export const portOfFleet = (http: FleetHttp, own: Draft | false): Finding[] =>
  http !== false && own !== false && http.port !== 0 && own.port === http.port
    ? [
        atKey(
          ["http"],
          msg`the page of the fleet listens at port ${http.port} already; give this account another`,
        ),
      ]
    : [];
