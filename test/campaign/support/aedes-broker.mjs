/*
 * The embedded broker in a process of its own, so that it can be put behind the chaos proxy, killed and frozen like any
 * other. `node aedes-broker.mjs <dist-modules> <port>`; local clients may do everything.
 */
import { pathToFileURL } from "node:url";

const [, , modules, port] = process.argv;
const load = (path) => import(pathToFileURL(`${modules}/${path}`).href);
const { startBroker } = await load("broker/broker.js");
const { systemClock } = await load("runtime/clock.js");
const quiet = () => undefined;
const log = {
  trace: quiet,
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: console.error,
  fatal: console.error,
};
await startBroker(
  {
    host: "127.0.0.1",
    port: Number(port),
    users: [],
    anonymous: { publish: ["#"], subscribe: ["#"] },
    topics: { base: "greenhouse", status: "homeassistant/status", discoveryPrefix: "homeassistant" },
  },
  { clock: systemClock, log },
);
console.log("running");
