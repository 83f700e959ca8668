import { expect, it } from "vitest";
import { connect, otherClient, testMosquitto } from "./support.js";

it("what the broker holds does not come in the stream in which commands come", async () => {
  const { url } = await testMosquitto();
  const other = await otherClient(url);
  const count = 500;
  const topics = Array.from({ length: count }, (_, n) => `house/east/sensor/${n}`);
  await Promise.all(topics.map((topic) => other.publishAsync(topic, "1", { qos: 1, retain: true })));
  const { connection, online } = connect({ url });
  await online();
  const before = connection.counters().received;
  const found: string[] = [];
  expect(await connection.scan(["house/#"], (topic) => found.push(topic))).toBe(true);
  expect([...found].sort()).toEqual([...topics].sort());
  expect(connection.counters().received).toBe(before);
});
