import type { Path } from "../settings/problem.js";

/**
 * When a change of a key counts: at once where it is named here or lies below one that is, as the running parts look it up or take it up;
 * with a new run everywhere else. `*` stands for any one name.
 */
export const atOnce = [
  ...(["log.level", "updates"] as const),
  ...(["commands.read_only", "commands.dry_run", "commands.max_age"] as const),
  ...(["commands.require_age", "commands.require_by"] as const),
  ...(["http.token", "http.allowed_hosts", "http.users", "http.settings", "http.overview"] as const),
  ...(["alarms", "notify", "groups", "scenes"] as const),
  ...(["controllers.*.name", "controllers.*.area"] as const),
  ...(["controllers.*.sensors.*.name", "controllers.*.sensors.*.alarm"] as const),
  ...(["controllers.*.actuators.*.name", "controllers.*.actuators.*.homeassistant.icon"] as const),
  "controllers.*.parameters.*.name",
] as const;

const patterns = atOnce.map((key) => key.split("."));

export const countsAtOnce = (path: Path): boolean =>
  patterns.some(
    (pattern) =>
      pattern.length <= path.length && pattern.every((name, at) => name === "*" || name === path[at]),
  );
