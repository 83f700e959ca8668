/*
 * A command is loaded when it is called, a hundred files at a time. Where a process may open only a few, Node says that a
 * package is not there.
 */

// More than a start needs, with room for the connections of a small installation.
const enoughFiles = 512;

/** Why parts of the program could not be loaded, and what to do; null for any other error. */
export function unloadable(error: unknown, openFiles: () => number | null): string | null {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (code !== "EMFILE" && code !== "ENFILE" && code !== "ERR_MODULE_NOT_FOUND") return null;
  const limit = code === "ENFILE" ? null : openFiles();
  if (limit !== null && limit < enoughFiles)
    return `this process may open only ${limit} files at a time, too few for a start: allow ${2 * enoughFiles} (ulimit -n ${2 * enoughFiles}; LimitNOFILE= of a systemd service; --ulimit nofile= of a container)`;
  const { message } = error as Error;
  if (code === "ERR_MODULE_NOT_FOUND")
    return `a part of the program is missing: ${message.split("\n")[0] ?? ""}; install it again with its packages (npm ci)`;
  return `too many files are open at this computer: ${message}; end what holds them open, or raise the limit (ulimit -n, fs.file-max)`;
}

/** How many files this process may open; null where that is not known or not limited. */
export function openFilesLimit(): number | null {
  // The report would look up the name of every peer.
  const report = Object.assign(process.report, { excludeNetwork: true }).getReport();
  const limits: unknown = "userLimits" in report ? report.userLimits : null;
  if (typeof limits !== "object" || limits === null || !("open_files" in limits)) return null;
  const files: unknown = limits.open_files;
  const soft = typeof files === "object" && files !== null && "soft" in files ? files.soft : null;
  return typeof soft === "number" ? soft : null;
}
