import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Journal } from "../../../src/journal/journal.js";
import { acquire } from "../../journal/support/disk.js";
import { systemClock } from "../../../src/runtime/clock.js";
import { silentLog } from "../../../src/runtime/log.js";
import type { Simulator } from "../../../src/simulator/simulator.js";
import { taken } from "../../journal/support/samples.js";
import { freePort, type MosquittoOptions } from "../../support/mosquitto.js";
import {
  canaries,
  examined,
  loaded,
  login,
  plainConfiguration,
  platform,
  quick,
  type Section,
  users,
} from "./support/bench.js";
import { testMosquitto } from "../../mqtt-connection/support.js";
import { folder } from "../../cli/in-process.js";
import { expired, forOtherName } from "./support/certificates.js";
import { forbiddingFront, httpsFront } from "./support/front.js";

interface Row {
  readonly fault: string;
  /** Sections of the configuration that differ. */
  readonly plant?: (simulator: Simulator, home: string) => Section | Promise<Section>;
  /** Other circumstances. */
  readonly disturb?: (simulator: Simulator, home: string) => unknown;
  readonly broker?: MosquittoOptions;
  readonly simulator?: Parameters<typeof platform>[0];
  /** By how much this computer's clock is off. */
  readonly clockMs?: number;
  /** No message of ours will come back, so waiting for one is in vain. */
  readonly isDeaf?: boolean;
  /** `status check: summary → remedy`. */
  readonly finds: RegExp;
}

const hour = 3_600_000;
const swapped = /^failed token: .*swapped.* → exchange platform\.business_url and platform\.realtime_url/;
const account = { account: canaries.account, password: canaries.password };
const signIn = { token: undefined, sign_in: { body: account } };
const realtimePaths = /^\/(?:ws|api\/(?:sensor-data|mqtt-client|device_status|get-value|set-value))/;
const businessPaths = /^\/api\/(?:account|station|device(?!_)|weather|video|control)/;

const platformRows: readonly Row[] = [
  {
    fault: "a list that is a page of a longer one",
    simulator: { faults: [{ fault: "paged", value: 2, chance: 1 }] },
    finds:
      /^warning shapes\.control\/mqtt: 2 controllers understood, but they are only a page of a longer list.* → .*params: \{ pageSize: "500" \}/,
  },
  {
    fault: "a wrong token",
    simulator: { auth: { tokens: "known", accepted: ["another"] } },
    finds:
      /^failed token: .*401.* → .*check platform\.token\), or the operator must first register this machine's address/,
  },
  {
    fault: "a host name that does not exist",
    plant: () => ({ platform: { business_url: "https://greenhouse.invalid" } }),
    finds: /^failed business\.dns: greenhouse\.invalid: .* → .*(platform\.business_url|network)/,
  },
  {
    fault: "nothing listens at the host",
    plant: async () => ({ platform: { realtime_url: `http://127.0.0.1:${await freePort()}` } }),
    finds: /^failed realtime\.tls: .*refuses connections.* → .*check host and port of platform\.realtime_url/,
  },
  {
    fault: "an expired certificate",
    plant: async ({ businessUrl }) => ({
      platform: { business_url: await httpsFront(businessUrl, expired) },
    }),
    finds: /^failed business\.tls: .*expired on 2021-01-01.* → .*ask its operator to renew it/,
  },
  {
    fault: "a self-signed certificate for another name",
    plant: async ({ realtimeUrl }) => ({
      platform: { realtime_url: await httpsFront(realtimeUrl, forOtherName) },
    }),
    finds:
      /^failed realtime\.tls: .*for another name \(DNS:other\.example\) than 127\.0\.0\.1, and .*self-signed → check the host name in platform\.realtime_url; .*NODE_EXTRA_CA_CERTS/,
  },
  {
    fault: "the two hosts swapped",
    plant: ({ businessUrl, realtimeUrl }) => ({
      platform: { business_url: realtimeUrl, realtime_url: businessUrl },
    }),
    finds: swapped,
  },
  ...["token", "realtime"].map((check): Row => ({
    fault: `the two hosts swapped, with a sign-in (${check})`,
    simulator: { auth: { tokens: "known", signIn: account } },
    plant: ({ businessUrl, realtimeUrl }) => ({
      platform: { business_url: realtimeUrl, realtime_url: businessUrl, ...signIn },
    }),
    finds: new RegExp(swapped.source.replace("token", check)),
  })),
  {
    fault: "the two hosts swapped, where each forbids what it does not know",
    plant: async ({ businessUrl, realtimeUrl }) => ({
      platform: {
        business_url: await forbiddingFront(realtimeUrl, realtimePaths),
        realtime_url: await forbiddingFront(businessUrl, businessPaths),
      },
    }),
    finds: swapped,
  },
  {
    fault: "a maintenance page instead of answers",
    disturb: ({ control }) =>
      control.fault({ fault: "html", operation: "control/mqtt", for: hour, status: 200 }),
    finds:
      /^failed token: .*a web page instead of data.* → .*maintenance page, or platform\.business_url is not the platform's address/,
  },
  {
    fault: "an account without controllers",
    disturb: ({ control }) => {
      control.emptyList(true);
    },
    finds: /^warning token: .*lists no controllers → check that this account owns controllers/,
  },
  {
    fault: "a clock an hour behind",
    clockMs: -hour,
    finds: /^failed clock: .*60 min behind the platform's.* → .*timedatectl set-ntp true/,
  },
  {
    fault: "a time zone with which readings come from the future",
    plant: () => ({ platform: { time_zone: "UTC" } }),
    finds:
      /^failed time_zone: .*8\.0 h in the future.* → set platform\.time_zone to \S+ \(or another zone that is UTC\+8 now\)/,
  },
  {
    fault: "a time zone with which readings are hours old",
    plant: () => ({ platform: { time_zone: "Pacific/Kiritimati" } }),
    finds:
      /^failed time_zone: .*6\.0 h old.* → set platform\.time_zone to \S+ \(or another zone that is UTC\+8 now\)/,
  },
  {
    fault: "readings in a shape nobody would guess",
    simulator: { profile: "odd" },
    finds:
      /^failed shapes\.sensor-data: .*fields: what, now, scale, dateTime.* → add platform: \{ shapes: \{ sensor-data: \{ .*name: what, value: now, query: \{ deviceCode: facility \} \} \} \}/,
  },
  {
    fault: "push channels that refuse the token",
    simulator: { auth: { checkRealtime: true } },
    plant: () => ({ platform: { push: { credential: "none" } } }),
    finds: /^warning push\.set-value: .*HTTP 401: the credential is refused.* → .*platform\.push\.credential/,
  },
  {
    fault: "push channels without a frame",
    disturb: ({ control }) => {
      control.push("silent");
    },
    finds: /^ok push\.device-status: opened; no frame came within/,
  },
];

const brokerRows: readonly Row[] = [
  {
    fault: "no broker at the address",
    plant: async () => ({ mqtt: { url: `mqtt://127.0.0.1:${await freePort()}` } }),
    finds: /^failed broker: .*nothing listens there.* → .*is the broker running, and is mqtt\.url right\?/,
  },
  {
    fault: "a wrong password at the broker",
    broker: { users },
    plant: () => ({ mqtt: { username: "bridge", password: "not-the-password" } }),
    finds:
      /^failed broker: .*(does not let us in|refused the user name or password).* → .*check mqtt\.username and mqtt\.password/,
  },
  ...([5, 4] as const).map((version): Row => ({
    fault: `a broker that refuses publishing, MQTT version ${version}`,
    broker: { users, acl: ["user bridge", "topic read greenhouse/#"] },
    isDeaf: true,
    plant: () => ({ mqtt: { ...login, protocol_version: version } }),
    finds:
      version === 5
        ? /^failed broker\.publish: .*refuses what we publish.* → allow the user of mqtt\.username to publish .*greenhouse\/# in the broker's access list/
        : /^failed broker\.publish: .*never gave it back.* → allow the user of mqtt\.username to publish .*greenhouse\/# in the broker's access list/,
  })),
  {
    fault: "a broker that refuses subscribing",
    broker: { users, acl: ["user bridge", "topic write greenhouse/#"] },
    isDeaf: true,
    plant: () => ({ mqtt: login }),
    finds:
      /^failed broker\.subscribe: .*(holds back the messages|does not let us subscribe).* → allow the user of mqtt\.username to subscribe to greenhouse\/# in the broker's access list/,
  },
  {
    fault: "a broker that refuses announcements to Home Assistant",
    broker: { users, acl: ["user bridge", "topic readwrite greenhouse/#"] },
    plant: () => ({ mqtt: login }),
    finds:
      /^failed broker\.announce: .*may not publish below homeassistant\/.* → .*homeassistant\/device\/\+\/config/,
  },
  {
    fault: "a broker without retained messages",
    broker: { users, extra: ["retain_available false"] },
    plant: () => ({ mqtt: login }),
    finds: /^failed broker\.retained: .*keeps no retained messages → .*retain_available true/,
  },
  {
    fault: "a broker that lets anonymous clients in",
    plant: () => ({ mqtt: login }),
    finds: /^warning broker\.anonymous: .*lets clients in without a user name.* → .*allow_anonymous false/,
  },
  {
    fault: "a broker with a small packet limit",
    broker: { users, maxPacketSize: 20_000 },
    plant: () => ({ mqtt: login }),
    finds: /^warning broker\.packet_size: .*at most 20000 bytes.* → .*max_packet_size 266240/,
  },
  {
    fault: "MQTT 3.1.1",
    plant: () => ({ mqtt: { protocol_version: 4 } }),
    finds: /^warning broker\.version: .*MQTT 3\.1\.1.* → .*protocol_version to 5/,
  },
  {
    fault: "the embedded broker's port taken by another program",
    plant: async () => {
      const squatter = createServer().listen(0, "127.0.0.1");
      await once(squatter, "listening");
      onTestFinished(async () => {
        squatter.close();
        await once(squatter, "close");
      });
      const address = squatter.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      return { mqtt: { url: undefined }, broker: { port } };
    },
    finds: /^failed broker: .*in use by another program → if that is Mosquitto, set mqtt\.url/,
  },
  {
    fault: "a file of mqtt.tls that is not there",
    plant: () => ({ mqtt: { url: "mqtts://127.0.0.1:1", tls: { ca: "./gone.pem" } } }),
    finds: /^failed broker: .*mqtt\.tls\.ca: ENOENT.*gone\.pem' → check mqtt\.tls\.ca$/,
  },
  {
    fault: "no Home Assistant at the broker",
    finds:
      /^warning home_assistant: nothing of Home Assistant.* → connect its MQTT integration to this broker/,
  },
];

const dataRows: readonly Row[] = [
  {
    fault: "a data directory that cannot be written",
    plant: async (_, home) => {
      await writeFile(join(home, "file"), "");
      return { data_dir: "./file/data" };
    },
    finds: /^failed data_dir: .*cannot be written \(ENOTDIR\).* → .*is a file, .*change data_dir/,
  },
  {
    fault: "a journal that cannot be where data_dir is",
    plant: async (_, home) => {
      await writeFile(join(home, "file"), "");
      return { data_dir: "./file/data" };
    },
    finds: /^skipped last_run: not tried: it needs "data_dir", which did not pass/,
  },
  {
    fault: "a data directory in use by a bridge that is not at the broker",
    disturb: async (_, home) => {
      await acquire(join(home, "data"));
    },
    finds:
      /^warning lock: .*in use by a running bridge \(process \d+, since .*not online at this broker → .*a second bridge needs a data_dir of its own/,
  },
  {
    fault: "a command that was in flight when the bridge died",
    disturb: async (_, home) => {
      await mkdir(join(home, "data"), { recursive: true });
      const journal = await Journal.open(join(home, "data", "journal"), {
        clock: systemClock,
        log: silentLog,
      });
      await journal.append(taken("one"), { durable: true });
      await journal.close();
    },
    finds: /^warning last_run: .*1 command has no result yet → .*reads them back .* sends nothing again/,
  },
  {
    fault: "a platform that carries out what it has refused",
    disturb: async (_, home) => {
      await mkdir(join(home, "data"), { recursive: true });
      const journal = await Journal.open(join(home, "data", "journal"), {
        clock: systemClock,
        log: silentLog,
      });
      await journal.append({ type: "start", version: "1" }, { durable: true });
      await journal.append({ type: "stop", reason: "" }, { durable: true });
      const moved = { controller: "GH-0001", actuator: "fan", id: "vent 1", from: "off", to: "on" };
      await journal.append({ type: "late_execution", ...moved }, { durable: true });
      await journal.close();
    },
    finds:
      /^warning last_run: .*carried out vent 1 of GH-0001\/fan \d+ s ago, .*without being confirmed → .*send the opposite/,
  },
];

const mount = (on: string) =>
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=4k", "tmpfs", on], { stdio: "ignore" });

/** A disk without room for one more file. */
async function mountFullDisk(on: string): Promise<void> {
  await mkdir(on, { recursive: true });
  mount(on);
  onTestFinished(() => void execFileSync("umount", ["-l", on]));
  await writeFile(join(on, "full"), Buffer.alloc(4096));
}

function mayMount(): boolean {
  const on = mkdtempSync(join(tmpdir(), "greenhouse2mqtt-mount-"));
  try {
    mount(on);
    execFileSync("umount", ["-l", on]);
    return true;
  } catch {
    console.log("NOT RUN: the row about a full disk, nothing can be mounted here");
    return false;
  } finally {
    rmdirSync(on);
  }
}

const diskRows: readonly Row[] = mayMount()
  ? [
      {
        fault: "a full disk",
        disturb: (_, home) => mountFullDisk(join(home, "data")),
        finds: /^failed data_dir: .*\(ENOSPC\).* → the disk is full; free some space on it$/,
      },
    ]
  : [];

describe("each planted fault is named with its remedy", () =>
  it.each([...platformRows, ...brokerRows, ...dataRows, ...diskRows])(
    "$fault",
    { timeout: 60_000 },
    async (row) => {
      const simulator = await platform(row.simulator);
      const broker = await testMosquitto(row.broker);
      const home = await folder();
      await row.disturb?.(simulator, home);
      const { mqtt, ...more } = (await row.plant?.(simulator, home)) ?? {};
      const section = plainConfiguration(simulator, { url: broker.url, ...(mqtt as Section) }, more);
      const { clockMs = 0, isDeaf = false } = row;
      const clock = { ...systemClock, now: () => systemClock.now() + clockMs };
      const limits = { ...quick, ...(isDeaf && { roundTripMs: 500 }) };
      const { findings } = await examined(await loaded(section, home), { clock }, [], limits);
      const lines = findings.map(
        ({ status, check, summary, remedy = "" }) =>
          `${status} ${check}: ${String(summary)} → ${String(remedy)}`,
      );
      expect(lines).toContainEqual(expect.stringMatching(row.finds));
      const shown = JSON.stringify(findings);
      for (const canary of Object.values(canaries)) expect(shown).not.toContain(canary);
      expect(simulator.control.posts()).toEqual([]);
    },
  ));
