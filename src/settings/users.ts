import { msg, type Text } from "../language/text.js";
import {
  fewestCharacters,
  isPasswordHash,
  parsePasswordHash,
  passwordWeakness,
  shortestPassword,
} from "../runtime/passwords.js";
import { isLoopback } from "../runtime/sockets.js";
import { type Draft, itemsOf, sectionOf, sectionsAt, textOf } from "./draft.js";
import { atValue, type Finding, repeats, when } from "./problem.js";

/* Users of servers that other machines may reach. */

/** Whether other machines can reach the server. */
export const isOpen = (broker: Draft): boolean => !isLoopback(textOf(broker, "host") ?? "127.0.0.1");

/** Servers with users and an address that other machines may reach. */
const reached = { broker: msg`the broker`, http: msg`the page` } as const;
type Server = keyof typeof reached;

/** Checks the users of a server. */
export const soundUsers = (root: Draft, server: Server): Finding[] => [
  ...usablePasswords(root, server),
  ...distinctUsers(root, server),
];

/** A guessed password would let somebody move actuators from the network; with a broken hash no login succeeds. */
const usablePasswords = (root: Draft, server: Server): Finding[] =>
  sectionsAt(root, `${server}.users.*`).flatMap(({ path, section }) => {
    const password = textOf(section, "password");
    const message =
      password === null ? null : passwordProblem(password, server, isOpen(sectionOf(root, server)));
    return message === null ? [] : [atValue([...path, "password"], message)];
  });

function passwordProblem(password: string, server: Server, isReachable: boolean): Text | null {
  if (isPasswordHash(password))
    return parsePasswordHash(password) === null
      ? msg`looks like a hash but cannot be read: make a new one with greenhouse2mqtt passwd`
      : null;
  const weakness = isReachable ? passwordWeakness(password) : null;
  return weakness === null
    ? null
    : msg`expected at least ${shortestPassword} characters, ${fewestCharacters} of them different, and no common password, because other machines can reach ${reached[server]}; ${weakness}`;
}

function distinctUsers(root: Draft, server: Server): Finding[] {
  const users = sectionsAt(root, `${server}.users.*`).filter(
    ({ section }) => textOf(section, "username") !== null,
  );
  return repeats(users, ({ section }) => section.username).map(([{ path }]) =>
    atValue([...path, "username"], msg`another user above has this name`),
  );
}

/** Whether somebody who is made by `init` or on the page may be called so. */
export const isUserName = (name: string): boolean => /^[^\p{C}]{1,64}$/u.test(name);

/** Whether somebody may log in; an unreadable list may name somebody. */
export const hasUsers = (section: Draft): boolean =>
  itemsOf(section, "users").length > 0 || typeof section.users === "symbol";

export const plainPassword = msg`plain password; \`greenhouse2mqtt passwd\` makes a hash that can stand here instead`;

/** Warns of plain passwords, which everybody can read who sees the file. */
export const plainPasswords = (server: Server, users: readonly { readonly password: string }[]): Finding[] =>
  users.flatMap(({ password }, at) =>
    when(!isPasswordHash(password), [server, "users", at, "password"], plainPassword),
  );
