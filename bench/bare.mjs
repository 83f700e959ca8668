// The baseline: the same requests and the same messages with nothing between them. It keeps no state, recognises
// nothing, detects no changes and has no deadlines, retries, limits or reconnects of its own.
// Arguments: JSON {platform, broker, base, controllers, concurrency, paced}. A sweep runs on each message to
// <base>/sweep.
import mqtt from "mqtt";
import { Pool } from "undici";
import { codeOf, sensors } from "./account.mjs";

const { platform, broker, base, controllers, concurrency, paced } = JSON.parse(process.argv[2]);
const pool = new Pool(platform, { connections: concurrency });
const client = mqtt.connect(broker, { protocolVersion: 5, clientId: base, clean: true });
const headers = { authorization: "Bearer bench" };

async function get(path) {
  const { body } = await pool.request({ method: "GET", path, headers });
  return body.json();
}

const publish = (topic, payload) => client.publish(topic, payload, { qos: 1, retain: true });

async function readSensors(code) {
  const { data } = await get(`/api/sensor-data?deviceCode=${code}`);
  const received = new Date().toISOString();
  data.forEach((item, index) => {
    const topic = `${base}/${code.toLowerCase()}/sensor/${item.factor}`;
    const { kind, shown } = sensors[index];
    publish(topic, String(item.value));
    publish(
      `${topic}/json`,
      JSON.stringify({
        value: item.value,
        raw: item.value,
        unit: shown,
        kind,
        measured_at: new Date(`${item.dateTime.replace(" ", "T")}+08:00`).toISOString(),
        received_at: received,
        quality: "good",
        source: "poll",
        name: item.name,
        factor: item.factor,
        channel: String(item.channel),
      }),
    );
  });
}

const readStatuses = (code) => get(`/api/device_status?deviceCode=${code}`);

async function readLists() {
  for (const path of ["/api/control/mqtt", "/api/device?dataType=TEXT", "/api/device?dataType=STREAM"])
    await get(path);
}

async function sweep() {
  const jobs = [readLists];
  for (let index = 0; index < controllers; index += 1) jobs.push(() => readSensors(codeOf(index)));
  for (let index = 0; index < controllers; index += 1) jobs.push(() => readStatuses(codeOf(index)));
  let next = 0;
  const worker = async () => {
    while (next < jobs.length) await jobs[next++]();
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

/** Spreads controllers over the default intervals: sensors each minute, statuses and lists every five minutes. */
function keepPace() {
  const each = (intervalMs, index, job) =>
    setTimeout(() => setInterval(job, intervalMs), (index / controllers) * intervalMs);
  setInterval(() => get("/api/control/mqtt"), 300_000);
  for (let index = 0; index < controllers; index += 1) {
    each(60_000, index, () => readSensors(codeOf(index)));
    each(300_000, index, () => readStatuses(codeOf(index)));
  }
}

client.on("message", () => void sweep());
client.on("connect", async () => {
  await client.subscribeAsync(`${base}/sweep`, { qos: 1 });
  await sweep();
  if (paced) keepPace();
  console.log("ready");
});
