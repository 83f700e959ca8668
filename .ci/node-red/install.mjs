import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

/* A real Node-RED in a folder of its own: for what is checked with it, and for what is measured beside it. */

export const nodeRedVersion = process.env.NODE_RED_VERSION ?? "4.1.8";
/** For the dashboard example alone. */
const dashboard = "@flowfuse/node-red-dashboard@1.31.0";

/** Installs it below `folder`; resolves with the file to run. Rejects with the end of what npm said. */
export async function installNodeRed(folder) {
  const options = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder];
  await promisify(execFile)("npm", ["install", ...options, `node-red@${nodeRedVersion}`, dashboard]).catch(
    (error) => {
      throw new Error(
        `node-red@${nodeRedVersion} could not be installed: ${String(error.stderr).slice(-500)}`,
      );
    },
  );
  return join(folder, "node_modules/node-red/red.js");
}

/** Writes flow and settings below `folder`; resolves with the arguments behind the file to run. */
export async function nodeRedArguments(folder, { flow, port, more = {} }) {
  await writeFile(join(folder, "flows.json"), JSON.stringify(flow));
  const settings = { flowFile: "flows.json", uiHost: "127.0.0.1", uiPort: port, credentialSecret: "check" };
  const file = join(folder, "settings.cjs");
  await writeFile(file, `module.exports = ${JSON.stringify({ ...settings, userDir: folder, ...more })};`);
  return ["--settings", file];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  console.log(await installNodeRed(process.argv[2]));
