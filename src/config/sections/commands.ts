import { withDefault } from "../fields.js";
import { topic } from "../mqtt-names.js";
import { duration, flag, list, section } from "../values.js";

export const commandsSection = section({
  read_only: withDefault(flag(), false, "Refuse every command."),
  dry_run: withDefault(flag(), false, "Check everything and send nothing."),
  max_age: withDefault(
    duration(1000),
    "60s",
    "From a command's arrival (or its `at`) to its first sending; a payload can only shorten it.",
  ),
  require_age: withDefault(flag(), false, "Refuse commands that carry neither `at` nor an MQTT 5 expiry."),
  require_by: withDefault(
    flag(),
    false,
    "Refuse commands that do not say who asks: `by`, or the embedded broker's user. A `stop` passes.",
  ),
  min_interval: withDefault(
    duration(),
    "2s",
    "Least time between two commands to one actuator; a newer one waits.",
  ),
  raw_addresses: withDefault(flag(), false, "Allow .../address/<address>/set."),
  response_topics: withDefault(
    list(topic()),
    [],
    "Besides `<base>/response`: topics below which MQTT 5 answers may go.",
  ),
});
