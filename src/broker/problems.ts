import { isLoopback } from "../runtime/loopback.js";
import { isPasswordHash, parsePasswordHash } from "../runtime/password-hash.js";
import { passwordWeakness } from "../runtime/weak-password.js";
import type { BrokerSettings, BrokerUser } from "./settings.js";
import { isTopicFilter } from "./topic-filter.js";

export interface SettingsProblem {
  /** Below `broker`, such as `users.0.password`. */
  readonly path: readonly (string | number)[];
  /** What is wrong and what to do; never holds a password. */
  readonly message: string;
}

/** Everything that keeps the broker from starting; used by `check` too. */
export function brokerProblems(settings: Pick<BrokerSettings, "host" | "users">): readonly SettingsProblem[] {
  const open = !isLoopback(settings.host);
  const problems: SettingsProblem[] = [];
  if (open && settings.users.length === 0)
    problems.push({
      path: ["host"],
      message: `anyone in the network could move actuators at ${settings.host}: add broker.users, or use host 127.0.0.1`,
    });
  const seen = new Set<string>();
  settings.users.forEach((user, n) => {
    if (seen.has(user.username))
      problems.push({ path: ["users", n, "username"], message: "this user is there twice" });
    seen.add(user.username);
    problems.push(
      ...userProblems(user, open).map(({ path, message }) => ({ path: ["users", n, ...path], message })),
    );
  });
  return problems;
}

function userProblems(user: BrokerUser, open: boolean): SettingsProblem[] {
  const problems: SettingsProblem[] = [];
  const add = (path: (string | number)[], message: string) => problems.push({ path, message });
  const { username, password } = user;
  if (username === "") add(["username"], "the user name is empty");
  if (password === "") add(["password"], "the password is empty");
  else if (isPasswordHash(password)) {
    if (parsePasswordHash(password) === null)
      add(["password"], "looks like a hash but cannot be read: make a new one with greenhouse2mqtt passwd");
  } else {
    const weakness = open ? passwordWeakness(password) : null;
    if (weakness !== null) add(["password"], `too weak for a broker that others can reach: ${weakness}`);
  }
  for (const list of ["publish", "subscribe"] as const) {
    (user[list] ?? []).forEach((filter, n) => {
      if (!isTopicFilter(filter))
        add([list, n], "not a topic filter: + and # stand alone between slashes, # last");
    });
  }
  return problems;
}
