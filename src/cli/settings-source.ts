import type { ConfigurationResult, ReadFile } from "../config/load.js";
import type { SettingsSource } from "../http/settings-source.js";
import type { ReturnedSettings, SettingsDocument, SettingsProposal } from "../page/protocol.js";
import { systemClock } from "../runtime/clock.js";
import { type Kept, type Proposal, type Saved, SettingsFile } from "../saving/settings-file.js";
import { formatProblem } from "../settings/problem.js";
import { schemaTree } from "../saving/schema-tree.js";
import { tellIn } from "./speech.js";

/* The settings of the page: the file of the configuration, and what becomes of the run by it. */

/** A change that was saved, until it is known whether the bridge comes up by it. */
export interface SavedChange {
  readonly kept: Kept;
  readonly etag: string;
  readonly keys: readonly string[];
  readonly difference: string;
}

interface SettingsSourceParts {
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly load: (reads?: ReadFile) => Promise<ConfigurationResult>;
  readonly dataDir: () => string;
  /** Takes the file up as a reload does; what was wrong with it, or null. */
  readonly readAgain: () => Promise<string | null>;
  /** Told of each change that was saved and is about to be taken up. */
  readonly onSaved: (change: SavedChange, file: SettingsFile) => void;
  readonly returned: () => ReturnedSettings | null;
}

/** The answer leaves before the run that gives it ends. */
const answerMs = 250;

export function settingsSource(parts: SettingsSourceParts): SettingsSource {
  const { file, env, load, dataDir } = parts;
  const settings = new SettingsFile({ file, env, load, dataDir, now: () => systemClock.now() });
  const held: { change: SavedChange | null } = { change: null };
  const soon = (work: () => unknown) => void systemClock.wait(answerMs).then(work);
  return {
    read: () => readDocument(settings, parts.returned()),
    check: async (wanted, { language, admin }) => {
      const tell = await tellIn(language);
      return shownProposal(await settings.propose(wanted, { tell, admin }));
    },
    save: async (wanted, etag, { language, admin }) => {
      const saved = await settings.save(wanted, etag, { tell: await tellIn(language), admin });
      if (saved.saved) held.change = changeOf(saved);
      return { ...saved, proposal: shownProposal(saved.proposal) };
    },
    takeUp: () => {
      const { change } = held;
      held.change = null;
      if (change === null) return;
      soon(() => {
        parts.onSaved(change, settings);
        return parts.readAgain();
      });
    },
    readAgain: async () => {
      const result = await load();
      if (!result.ok) return result.problems.map(formatProblem).join("\n");
      soon(parts.readAgain);
      return null;
    },
  };
}

async function readDocument(
  settings: SettingsFile,
  returned: ReturnedSettings | null,
): Promise<SettingsDocument> {
  const { notWritable, given, ...rest } = await settings.settings();
  const shown = Object.entries(given).map(([key, { value, from, name, line, isSecret }]) => [
    key,
    {
      ...{ from, line },
      ...(value !== undefined && { value }),
      ...(name !== undefined && { name }),
      ...(isSecret && { isSecret }),
    },
  ]);
  return {
    ...rest,
    given: Object.fromEntries(shown) as SettingsDocument["given"],
    not_writable: notWritable,
    keys: schemaTree(),
    returned,
  };
}

const changeOf = ({ kept, proposal }: Extract<Saved, { saved: true }>): SavedChange => ({
  kept,
  etag: proposal.etag,
  keys: proposal.keys,
  difference: proposal.difference,
});

const shownProposal = ({ needRun, ...proposal }: Proposal): SettingsProposal => ({
  ...proposal,
  need_run: needRun,
});
