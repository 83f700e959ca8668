import type { Clock } from "../runtime/clock.js";
import type { textFile } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { Listener } from "./access.js";
import type { Faults } from "./faults.js";
import type { FirstOperator } from "./first-operator.js";

/** Where it is listened, and who is let in, whatever is served there. */
export interface Port {
  readonly clock: Clock;
  readonly log: Logger;
  /** Asked for every request, so that a new token or name counts at once. */
  readonly listener: () => Listener;
  readonly status: {
    loggedIn(user: string, address: string | null): void;
    /** A wrong token or password was shown; from which address. */
    refusedLogin(shown: "http.token" | "password", address: string | null): void;
  };
  /** The file of the page's logins, which only the user that runs the program reads. */
  readonly sessions: ReturnType<typeof textFile>;
  /** Users of the page that the configuration does not name. */
  readonly firstOperator: Pick<FirstOperator, "load" | "code" | "isOffered" | "make">;
  /** Called once, when the page can be opened at this port; `code` makes the first operator, where there is none. */
  readonly onListening?: ((port: number, listener: Listener, code: string | null) => void) | undefined;
  readonly faults: Faults;
}
