import type { Topics } from "../mqtt/topics.js";
import type { Json } from "./document.js";
import { templates } from "./templates.js";

/*
 * What must hold for an entity to be usable. Home Assistant replaces lists, it does not merge them, so each is given
 * whole; the mode is `all` everywhere, because its default lets the last message win.
 */

export interface AvailabilityKeys {
  readonly availability: readonly Json[];
  readonly availability_mode: "all";
}

const all = (...availability: Json[]): AvailabilityKeys => ({ availability, availability_mode: "all" });

const bridge = (topics: Topics): Json => ({ topic: topics.bridge.state });
const platform = (topics: Topics): Json => ({
  topic: topics.bridge.platform,
  value_template: templates.platformReachable,
});
const controller = (topics: Topics, id: string): Json => ({
  topic: topics.controller(id).availability,
  value_template: templates.controllerReachable,
});

export const withBridge = (topics: Topics): AvailabilityKeys => all(bridge(topics));

export const withController = (topics: Topics, id: string): AvailabilityKeys =>
  all(bridge(topics), platform(topics), controller(topics, id));

export const withReading = (topics: Topics, id: string, sensor: string): AvailabilityKeys =>
  all(bridge(topics), platform(topics), controller(topics, id), {
    topic: topics.sensor(id, sensor).quality,
    value_template: templates.usableQuality,
  });
