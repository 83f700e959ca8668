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

/** The configuration as far as a feature may look into it: what is the core's, and its own. */
export type Configured<Own extends Keys> = CoreConfiguration & Parsed<z.ZodObject<Own>>;

/** What one running bridge alone can have. */
interface Claim {
  /** As in "the same client_id at the same broker". */
  readonly what: Text;
  readonly path: Finding["path"];
  /** Two bridges that say the same here clash. */
  readonly key: readonly (string | number)[];
}

/** What every feature can be asked, by the configuration that it looks into. */
export interface Faces<Configuration> {
  /** What is wrong between keys of a file as it was read. */
  readonly errors?: (root: Draft) => Finding[];
  /** What works but is probably not wanted. */
  readonly doubts?: (configuration: Configuration) => Finding[];
  /** What the configuration does, for `check`. */
  readonly sentences?: (configuration: Configuration) => readonly Text[];
  /** What says where or whose the bridge is. */
  readonly privateTexts?: (configuration: Configuration) => readonly PrivateText[];
  /** What two bridges may not share. `broker`: as all bridges at the same broker name it. */
  readonly claims?: (configuration: Configuration, broker: string) => readonly Claim[];
  /** What `doctor` looks at where it is so configured. */
  readonly checks?: (configuration: Configuration) => Promise<readonly Check<Scene<Configuration>>[]>;
  /** Commands of its own on the command line. */
  readonly commands?: readonly CommandRow<(call: CommandCall<Configuration>) => Promise<void>>[];
  /** Other computers' names that have to be looked up, by what leads there. */
  readonly hosts?: (configuration: Configuration) => readonly string[];
  /** Loads the code that it runs by, for whoever stands by and may have to run at once. */
  readonly load?: (configuration: Configuration) => Promise<unknown>;
  /** The running feature; null where the configuration does not ask for it. Its code is loaded only here. `now`: as it is since it was read again. */
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
