// The baseline of a command: the same three requests and one fsync, which overlaps the two reads as it may in the
// bridge. It has no checks, no state, no read-back and no results.
// Arguments: JSON {platform, broker, base, code, file}.
import { open } from "node:fs/promises";
import mqtt from "mqtt";
import { Pool } from "undici";

const { platform, broker, base, code, file } = JSON.parse(process.argv[2]);
const pool = new Pool(platform, { connections: 8 });
const journal = await open(file, "a");
// Last, so that the listeners below are registered before it connects.
const client = mqtt.connect(broker, { protocolVersion: 5, clientId: base, clean: true });
const headers = { authorization: "Bearer bench" };

async function get(path) {
  const { body } = await pool.request({ method: "GET", path, headers });
  return body.json();
}

async function record(line) {
  await journal.write(`${JSON.stringify(line)}\n`);
  await journal.datasync();
}

client.on("message", async (topic, payload) => {
  const address = topic.split("/").at(-2).slice(1);
  const value = String(payload) === "on" ? "1010" : "1001";
  const recorded = record({ at: new Date().toISOString(), code, address, value });
  await get(`/api/mqtt-client-status?deviceCode=${code}`);
  await get(`/api/get-value?deviceCode=${code}&address=${address}&flush=1`);
  await recorded;
  const body = JSON.stringify({ deviceCode: code, address, value });
  const post = { method: "POST", path: "/api/set-value", body };
  const answer = await pool.request({
    ...post,
    headers: { ...headers, "content-type": "application/json" },
  });
  await answer.body.json();
});
client.on("connect", async () => {
  await client.subscribeAsync(`${base}/+/actuator/+/set`, { qos: 1 });
  console.log("ready");
});
