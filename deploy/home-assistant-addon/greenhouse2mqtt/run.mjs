/*
 * Start of the Home Assistant app: options → configuration, then the bridge in this very process (so signals reach
 * it), as a user without rights.
 */
import { chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { configurationOf, environmentOf, needsService, OptionsError } from "./options.mjs";

const folder = "/data/greenhouse2mqtt";
/** The user `node` of the image. */
const owner = 1000;
const supervisor = process.env.SUPERVISOR_URL ?? "http://supervisor";
const usageCode = 2;

function end(message, code) {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}

/** The MQTT service of Home Assistant, or null while there is none. */
async function mqttService() {
  const headers = { authorization: `Bearer ${process.env.SUPERVISOR_TOKEN}` };
  const answer = await fetch(`${supervisor}/services/mqtt`, { headers, signal: AbortSignal.timeout(10_000) });
  return answer.ok ? (await answer.json()).data : null;
}

/** The broker's app may start after this one. */
async function awaitedService() {
  for (let tries = 0; tries < 24; tries += 1) {
    const service = await mqttService().catch(() => null);
    if (service !== null) return service;
    process.stderr.write("Waiting for Home Assistant's MQTT service…\n");
    await wait(5_000);
  }
  return null;
}

/** A file that cannot be read asks for nothing here; the bridge says what is wrong with it. */
function textOf(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** A file the user wrote in the folder of the app, with what it may ask of the environment; else one made of the options. */
async function prepare(options) {
  const own = options.configuration_file ? `/config/${options.configuration_file}` : null;
  const service = needsService(options, own && textOf(own)) ? await awaitedService() : null;
  if (own !== null) {
    Object.assign(process.env, environmentOf(options, service));
    return own;
  }
  const { configuration, secrets } = configurationOf(options, service);
  for (const [name, text] of Object.entries({ "config.yaml": configuration, "secrets.yaml": secrets })) {
    writeFileSync(`${folder}/${name}`, text, { mode: 0o600 });
    chownSync(`${folder}/${name}`, owner, owner);
  }
  return `${folder}/config.yaml`;
}

const options = JSON.parse(readFileSync("/data/options.json", "utf8"));
mkdirSync(folder, { recursive: true, mode: 0o700 });
chownSync(folder, owner, owner);
const file = await prepare(options).catch((error) => {
  if (error instanceof OptionsError) end(error.message, usageCode);
  throw error;
});

// SUPERVISOR_TOKEN stays: the program takes it away as it begins, and has Home Assistant restart the app with it.
delete process.env.HASSIO_TOKEN;
process.setgroups([]);
process.setgid(owner);
process.setuid(owner);
process.umask(0o077);
// Root's own folder for it is not to be had any more; this one outlives an update of the image.
process.env.XDG_CACHE_HOME = `${folder}/.cache`;
process.chdir(folder);
process.argv = [
  process.argv[0],
  "/app/dist/main.js",
  "run",
  "--config",
  file,
  "--data-dir",
  `${folder}/data`,
];
await import("/app/dist/main.js");
