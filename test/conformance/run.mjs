// npm run test:conformance [-- --paho DIR]
// With a checkout of Eclipse Paho's interoperability tests in DIR, those run instead.
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { paho: { type: "string" } } });
const suite = ["vitest", "run", "--config", "vitest.proof.config.ts", "--mode", "conformance"];
const env = { ...process.env };
if (values.paho !== undefined) {
  env.PAHO_CHECKOUT = resolve(values.paho);
  // They wait for fixed times, which a busy machine does not keep.
  suite.push(
    "test/conformance/clients",
    "--testNamePattern",
    "Paho's tests",
    "--maxConcurrency",
    "6",
    "--retry",
    "1",
  );
}
const { status } = spawnSync("npx", suite, { stdio: "inherit", env });
process.exit(status ?? 1);
