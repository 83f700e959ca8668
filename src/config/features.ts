import { broker } from "../broker/feature.js";
import { cluster } from "../cluster/feature.js";
import { groups } from "../groups/feature.js";
import { homeassistant } from "../homeassistant/feature.js";
import { http } from "../http/feature.js";
import { notify } from "../notify/feature.js";
import { runTime } from "../run-time/feature.js";
import { sparkplug } from "../sparkplug/feature.js";

/**
 * Every feature under its key, in the order in which they are made. A new one is a folder, a line here, and its place in the configuration
 * file (schema.ts).
 */
export const features = { broker, groups, homeassistant, sparkplug, runTime, http, notify, cluster };
