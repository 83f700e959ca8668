import { broker } from "../broker/feature.js";
import { cluster } from "../cluster/feature.js";
import { groups } from "../groups/feature.js";
import { homeassistant } from "../homeassistant/feature.js";
import { http } from "../http/feature.js";
import { notify } from "../notify/feature.js";
import { runTime } from "../run-time/feature.js";
import { sparkplug } from "../sparkplug/feature.js";

/** Every feature under its key, in the order in which they are made. A new one is a folder and a line here. */
export const features = { broker, groups, homeassistant, sparkplug, runTime, http, notify, cluster };

/** One type of all members of a union. */
type Together<Each> = (Each extends unknown ? (each: Each) => void : never) extends (all: infer All) => void
  ? All
  : never;
type Keys = (typeof features)[keyof typeof features]["keys"];

/** The keys of all features. */
export const featureKeys = Object.assign(
  {},
  ...Object.values(features).map(({ keys }) => keys),
) as Together<Keys>;
