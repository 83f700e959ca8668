import type { Parsed } from "../settings/values.js";
import type { Messenger, Service } from "./service.js";
import { dingtalk } from "./services/dingtalk.js";
import { ntfy } from "./services/ntfy.js";
import { smtp } from "./services/smtp.js";
import { telegram } from "./services/telegram.js";
import { webhook } from "./services/webhook.js";
import { wecom } from "./services/wecom.js";
import { keysOf } from "../runtime/objects.js";

/** Every service by its key, in the order of the example file. All lists of services derive from this table. */
export const services = { ntfy, telegram, wecom, dingtalk, webhook, smtp } satisfies Record<string, Service>;

type Services = typeof services;
export type ServiceName = keyof Services;
type Keys = { readonly [Name in ServiceName]: Services[Name]["key"] };
type Sections = { readonly [Name in ServiceName]?: Parsed<Services[Name]["key"]> };

export const serviceNames = keysOf(services);

/** The keys of a way, one for each service. */
export const serviceKeys = Object.fromEntries(
  serviceNames.map((name) => [name, services[name].key]),
) as unknown as Keys;

/** The messengers of a way with their keys; `check` ensures that there is exactly one. */
export const messengersOf = (
  way: Sections,
): readonly (readonly [name: ServiceName, messenger: Messenger])[] =>
  serviceNames.flatMap((name) => {
    const messenger = messengerIn(name, way);
    return messenger === null ? [] : [[name, messenger] as const];
  });

const table: {
  readonly [Name in ServiceName]: { messenger(settings: NonNullable<Sections[Name]>): Messenger };
} = services;

function messengerIn<Name extends ServiceName>(name: Name, way: Pick<Sections, Name>): Messenger | null {
  const settings = way[name];
  return settings === undefined ? null : table[name].messenger(settings);
}
