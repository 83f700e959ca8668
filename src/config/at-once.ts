import type { Path } from "../settings/problem.js";

/**
 * A change of these keys, or of keys below them, counts at once, as the running parts look them up or take them up.
 * Changes of all other keys take a new run. `*` stands for any one name.
 */
export const atOnce = [
  ...(["log.level", "updates"] as const),
  ...(["commands.read_only", "commands.dry_run", "commands.max_age"] as const),
  ...(["commands.require_age", "commands.require_by"] as const),
  ...(["http.token", "http.allowed_hosts", "http.users", "http.settings", "http.overview"] as const),
  "broker.users",
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
