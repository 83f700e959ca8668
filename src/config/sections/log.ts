import { withDefault } from "../fields.js";
import { choice, section } from "../values.js";

export const logSection = section({
  level: withDefault(
    choice(["trace", "debug", "info", "warn", "error", "fatal"]),
    "info",
    "Least severity that is logged.",
  ),
  format: withDefault(
    choice(["auto", "text", "json"]),
    "auto",
    "auto: text on a terminal, JSON lines elsewhere.",
  ),
});
