import type { Finding, Path } from "../problem.js";
import { entriesOf, sectionOf, textOf, type Draft } from "./draft.js";

interface Claim {
  readonly address: string;
  readonly owner: string;
  readonly path: Path;
}

/** An address belongs to one actuator or parameter, so that commands to it can be kept in order. */
export function distinctAddresses(root: Draft): Finding[] {
  return entriesOf(root, "controllers").flatMap(([code, controller]) => {
    const owners = new Map<string, string>();
    return claimsOf(controller).flatMap(({ address, owner, path }): Finding[] => {
      const first = owners.get(address) ?? owner;
      owners.set(address, first);
      return first === owner
        ? []
        : [
            {
              path: ["controllers", code, ...path],
              on: "value",
              message: `this address belongs to ${first} of the same controller already`,
            },
          ];
    });
  });
}

function claimsOf(controller: Draft): Claim[] {
  const actuators = entriesOf(controller, "actuators").flatMap(([id, actuator]) => [
    ...["address", "mode_address", "position_address"].flatMap((key) =>
      claim(`actuator ${id}`, ["actuators", id, key], textOf(actuator, key)),
    ),
    ...claim(
      `actuator ${id}`,
      ["actuators", id, "stop", "address"],
      textOf(sectionOf(actuator, "stop"), "address"),
    ),
  ]);
  const parameters = entriesOf(controller, "parameters").flatMap(([id, parameter]) =>
    claim(`parameter ${id}`, ["parameters", id, "address"], textOf(parameter, "address")),
  );
  return [...actuators, ...parameters];
}

const claim = (owner: string, path: Path, address: string | null): Claim[] =>
  address === null ? [] : [{ owner, path, address }];
