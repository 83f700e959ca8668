import type { OperationShape } from "../settings.js";
import type { ReportShape } from "../shape-reports.js";
import { UnreadableShape, type Decoding } from "./decoding.js";
import { visitItems } from "./items.js";
import { roleReader, type ReadRoles } from "./roles.js";
import { textOf } from "./wire.js";

export interface Station {
  readonly id: string;
  readonly name: string | null;
}

const stationRoles = {
  id: ["id", "stationId", "code", "stationCode"],
  name: ["name", "stationName", "title"],
} as const;

/** Stations of `GET /api/station`. Throws UnreadableShape when none of the items has an id. */
export function stationReader(
  shape: OperationShape,
): (answer: unknown, decoding: Decoding) => readonly Station[] {
  const roles = roleReader(stationRoles, { id: shape.code, name: shape.name });
  return (answer, { report }) => readStations(answer, shape.items, roles, report);
}

function readStations(
  answer: unknown,
  path: string | undefined,
  roles: ReadRoles<keyof typeof stationRoles>,
  report: ReportShape,
): readonly Station[] {
  const stations: Station[] = [];
  let unreadable = 0;
  const isList = visitItems(answer, path, {
    item: (fields) => {
      const found = roles(fields);
      const id = textOf(found.id);
      if (id === null) return false;
      stations.push({ id, name: textOf(found.name) });
      return true;
    },
    unreadable: (problem, sample) => {
      unreadable += 1;
      report(problem, sample);
    },
  });
  if (!isList || (unreadable > 0 && stations.length === 0))
    throw new UnreadableShape("no station could be read from the answer");
  return stations;
}
