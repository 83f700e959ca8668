import { sensorKey } from "../greenhouse/ids.js";
import type { Controller } from "../greenhouse/model.js";
import { componentKey } from "./identity.js";
import type { Announced } from "./removal.js";

/*
 * What an earlier run announced and this one does not. Removing an entity costs its user the name, the area and every automation built
 * on its id, so one that only the platform can bring back waits: after a start nothing has been read yet.
 */

const ofSensor = /^sensor_(?:factor|channel|name)_/;
const ofStatus = /^(?:binary_sensor_status|sensor_text)_/;

/**
 * The components of `gone` that may be removed now. What the configuration decides (actuators, parameters, ignored sensors) may go at
 * once; a sensor or a running status when `platformHadTime` and the controller has shown others of its sort.
 */
export function removable(
  gone: Announced,
  controller: Controller | null,
  platformHadTime: boolean,
): Announced {
  if (controller === null) return gone;
  const ignored = ignoredIn(controller);
  const mayGo = (key: string) => {
    if (ofSensor.test(key)) return ignored.has(key) || (platformHadTime && controller.sensors.size > 0);
    return ofStatus.test(key) ? platformHadTime && controller.statuses.size > 0 : true;
  };
  return new Map([...gone].filter(([key]) => mayGo(key)));
}

function ignoredIn({ settings, layout }: Controller): ReadonlySet<string> {
  if (!settings?.sensors.some(({ ignore }) => ignore)) return new Set();
  const leftOut = layout.filter(({ definition }) => definition === null);
  return new Set(leftOut.map((slot) => componentKey("sensor", sensorKey(slot))));
}
