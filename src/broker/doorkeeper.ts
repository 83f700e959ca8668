import type { Client } from "aedes";
import type { Logger } from "../runtime/logger.js";
import type { Gatekeeper } from "./gatekeeper.js";
import type { Logins, Verdict } from "./login.js";
import type { RefusedLogin, RefusedLogins } from "./refused-logins.js";
import type { BrokerTally } from "./settings.js";

/** CONNACK codes of MQTT 3.1.1; aedes translates them for MQTT 5. */
export type RefusalCode = 2 | 3 | 4 | 5;

export interface DoorParts {
  readonly logins: Logins;
  readonly gatekeeper: Gatekeeper;
  readonly tally: BrokerTally;
  readonly maxClients: number;
  readonly log: Logger;
  readonly refused: RefusedLogins;
  /** The connected client with this id. */
  readonly clientWithId: (id: string) => Client | null;
  /** Beside the bridge. */
  readonly clientCount: () => number;
}

/** Lets a client in, noting who it is, or answers with the code to refuse it with. */
export async function admit(
  parts: DoorParts,
  client: Client,
  login: { readonly address: string; readonly username?: string; readonly password?: Buffer },
): Promise<RefusalCode | null> {
  const { gatekeeper, tally, log } = parts;
  const verdict = await parts.logins.verdict({ ...login, client: client.id });
  if (verdict.kind === "refused")
    return refuseLogin(parts, verdict, { address: login.address, client: client.id.slice(0, 64) });
  const user = verdict.kind === "user" ? verdict.user.username : null;
  if (verdict.kind !== "bridge") {
    const problem = placeProblem(parts, client.id, user);
    if (problem !== null) {
      tally.refusedClients += 1;
      log.warn({ address: login.address, client: client.id.slice(0, 64), user }, problem.text);
      return problem.code;
    }
  }
  tally.accepted += 1;
  if (verdict.kind === "bridge") gatekeeper.admitBridge(client);
  else gatekeeper.admit(client, verdict.kind === "user" ? verdict.user : null);
  log.debug({ address: login.address, client: client.id.slice(0, 64), user }, "client connected");
  return null;
}

function refuseLogin(
  { tally, log, refused }: DoorParts,
  verdict: Verdict & { kind: "refused" },
  { address, client }: RefusedLogin,
): RefusalCode {
  if (verdict.why === "busy") return 3;
  if (verdict.why === "blocked") {
    tally.blockedLogins += 1;
    return 5;
  }
  tally.refusedLogins += 1;
  // The name is left out: people type passwords into the wrong field.
  refused.note({ address, client });
  log.warn({ address }, "refused a login with a wrong user name or password");
  if (verdict.newlySlowed)
    log.warn({ address }, "too many wrong logins; further ones wait for their turn for a while");
  return 4;
}

function placeProblem(
  { clientWithId, gatekeeper, clientCount, maxClients }: DoorParts,
  id: string,
  user: string | null,
): { readonly code: RefusalCode; readonly text: string } | null {
  const present = clientWithId(id);
  const owner = present && gatekeeper.identityOf(present);
  // Taking over a client id closes the other connection, which must not be possible with the bridge's or across users.
  if (owner && (owner.bridge || owner.user !== user))
    return { code: 2, text: "refused a client: its client id is in use by another user" };
  if (!present && clientCount() >= maxClients)
    return {
      code: 3,
      text: `refused a client: ${maxClients} are connected already; raise broker.limits.clients`,
    };
  return null;
}
