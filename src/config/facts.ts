import { z } from "zod";

/** What the schema alone cannot say about a key: everything the example file and the reference are made from. */
export interface FieldFacts {
  readonly description: string;
  /** As a user would write it. Present without a schema default where the default depends on other keys. */
  readonly default?: unknown;
  /** YAML text after `key: ` in the example file; else the default is shown. */
  readonly example?: string;
  /** Shown in the example file as a comment. */
  readonly off?: boolean;
  /** Key of the entry that the example file explains key by key, for maps. */
  readonly entry?: string;
  /** Further entries of that map in the example file, as YAML text. */
  readonly more?: string;
  /** Stands for the keys of a map in the reference; `<id>` unless given. */
  readonly each?: string;
  /** Never to appear in a log, topic or message. */
  readonly secret?: boolean;
}

export interface TypeFacts {
  /** For the reference: `duration`, `address`, ... */
  readonly name: string;
  /** Taken from the file as written, so that `0012` needs no quotes. */
  readonly written?: boolean;
}

export const fieldFacts = z.registry<FieldFacts>();
export const typeFacts = z.registry<TypeFacts>();
