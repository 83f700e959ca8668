import type { FileContent, ReadFile } from "./files.js";
import { parseSource, type Source, type SourceFault } from "./yaml/source.js";

/** Room for 2,000 controllers with everything on them; reading that much takes seconds and half a gigabyte. */
export const mostConfigurationBytes = 4 * 1_048_576;

type FileFault = Pick<SourceFault, "message"> & Partial<SourceFault>;

export type TextFile =
  | { readonly ok: true; readonly source: Source; readonly mode: number | null }
  | { readonly ok: false; readonly missing: boolean; readonly faults: readonly FileFault[] };

const sentences: Record<Exclude<FileContent, { ok: true }>["reason"], string> = {
  missing: "there is no such file",
  directory: "this is a folder; name the file in it",
  forbidden: "this user may not read the file; check its owner and mode",
  too_large: "larger than 4 MiB; this cannot be a configuration",
  unreadable: "the file cannot be read",
};

/** A YAML file as nodes, or every reason why not. */
export async function readYaml(path: string, readFile: ReadFile): Promise<TextFile> {
  const content = await readFile(path, mostConfigurationBytes);
  if (!content.ok)
    return {
      ok: false,
      missing: content.reason === "missing",
      faults: [{ message: sentences[content.reason] }],
    };
  if (content.bytes.length > mostConfigurationBytes)
    return { ok: false, missing: false, faults: [{ message: sentences.too_large }] };
  const text = decoded(content.bytes);
  if (text === null)
    return {
      ok: false,
      missing: false,
      faults: [{ message: "not UTF-8 text; save the file with that encoding" }],
    };
  const parsed = parseSource(text);
  return parsed.ok
    ? { ok: true, source: parsed.source, mode: content.mode }
    : { ok: false, missing: false, faults: parsed.faults };
}

function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
