import { reservedControllerIds } from "../../greenhouse/topic-ids.js";
import { controllerTopicId } from "../controller-topic-id.js";
import type { Finding } from "../problem.js";
import { entriesOf, given, textOf, type Draft } from "./draft.js";

/** Every controller has topics of its own, and some ids belong to the bridge. */
export function distinctControllerIds(root: Draft): Finding[] {
  const owners = new Map<string, string>();
  return entriesOf(root, "controllers").flatMap(([code, controller]): Finding[] => {
    const configured = textOf(controller, "id");
    if (controller.ignore === true || (configured === null && given(controller, "id"))) return [];
    const id = configured ?? controllerTopicId(code);
    const path = configured === null ? ["controllers", code] : ["controllers", code, "id"];
    const on = configured === null ? "key" : "value";
    const remedy = configured === null ? "give it an id of its own" : "choose another";
    if (reservedControllerIds.has(id))
      return [{ path, on, message: `the topic id "${id}" is reserved; ${remedy}` }];
    const owner = owners.get(id);
    if (owner === undefined) {
      owners.set(id, code);
      return [];
    }
    return [{ path, on, message: `controller ${owner} has the same topic id; ${remedy}` }];
  });
}

/** Two overrides of one sensor would contradict each other. */
export function distinctSensors(root: Draft): Finding[] {
  return entriesOf(root, "controllers").flatMap(([code, controller]) => {
    const owners = new Map<string, string>();
    return entriesOf(controller, "sensors").flatMap(([id, sensor]): Finding[] => {
      const from = textOf(sensor, "from");
      const owner = from === null ? undefined : owners.get(from);
      if (from !== null && owner === undefined) owners.set(from, id);
      return owner === undefined
        ? []
        : [
            {
              path: ["controllers", code, "sensors", id, "from"],
              on: "value",
              message: `sensor ${owner} of this controller is made from the same; use name@channel to tell them apart`,
            },
          ];
    });
  });
}
