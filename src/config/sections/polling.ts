import { withDefault } from "../fields.js";
import { duration, section } from "../values.js";

const interval = () => duration(1000);

export const pollingSection = section({
  controllers: withDefault(
    interval(),
    "5m",
    "Controller list with online flags; the platform asks for 5m or more.",
  ),
  sensors: withDefault(interval(), "1m", "Readings of one controller."),
  running_status: withDefault(interval(), "5m", "Running statuses of one controller."),
  actuators: withDefault(interval(), "2m", "Addresses of actuators and parameters."),
  stale_after: withDefault(interval(), "15m", "A reading older than this is stale."),
});
