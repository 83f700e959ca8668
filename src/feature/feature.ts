import type { z } from "zod";
import type { Text } from "../language/text.js";
import type { PrivateText } from "../runtime/redaction.js";
import type { Draft } from "../settings/draft.js";
import type { Finding } from "../settings/problem.js";
import type { CoreConfiguration } from "../settings/sections/core.js";
import type { Parsed } from "../settings/values.js";
import type { CommandCall, CommandRow } from "./command.js";
import type { Core, Running } from "./core.js";
import type { Check, Scene } from "./doctor.js";

/*
 * A feature is one folder, and what the program asks of it is one object in its `feature.ts`. Each member is optional: schema, `check`,
 * command line, health, metrics and the bundle ask every feature of the list in config/features.ts. A member is added here when two features need it.
 */

type Keys = z.core.$ZodLooseShape;

/** The configuration as a feature may see it: the core's part and its own. */
export type Configured<Own extends Keys> = CoreConfiguration & Parsed<z.ZodObject<Own>>;

/** Something that only one running bridge can have. */
interface Claim {
  /** Its name in a sentence, such as "the same client_id at the same broker". */
  readonly what: Text;
  readonly path: Finding["path"];
  /** Two bridges with the same key clash. */
  readonly key: readonly (string | number)[];
}

/** The members of a feature, for the configuration that it sees. */
export interface Faces<Configuration> {
  /** Errors between keys, in a file as it was read. */
  readonly errors?: (root: Draft) => Finding[];
  /** Doubts: what works but is probably not wanted. */
  readonly doubts?: (configuration: Configuration) => Finding[];
  /** Sentences in which `check` explains the configuration. */
  readonly sentences?: (configuration: Configuration) => readonly Text[];
  /** Texts that reveal where or whose the bridge is. */
  readonly privateTexts?: (configuration: Configuration) => readonly PrivateText[];
  /** What two bridges must not share. `broker`: the common name of their broker. */
  readonly claims?: (configuration: Configuration, broker: string) => readonly Claim[];
  /** Checks of `doctor` for this configuration. */
  readonly checks?: (configuration: Configuration) => Promise<readonly Check<Scene<Configuration>>[]>;
  /** Further commands on the command line. */
  readonly commands?: readonly CommandRow<(call: CommandCall<Configuration>) => Promise<void>>[];
  /** Addresses whose host names have to be resolved. */
  readonly hosts?: (configuration: Configuration) => readonly string[];
  /** Loads the feature's code in advance, for a standby member that may have to run at once. */
  readonly load?: (configuration: Configuration) => Promise<unknown>;
  /**
   * The running feature; null where the configuration does not ask for it. Only this loads its code. `now`: the
   * configuration as last read.
   */
  readonly make?: (
    core: Core,
    configuration: Configuration,
    now: () => Configuration,
  ) => Promise<Running | null>;
}

export interface Feature<Own extends Keys> extends Faces<Configured<Own>> {
  /** Its keys in the configuration file. */
  readonly keys: Own;
}
