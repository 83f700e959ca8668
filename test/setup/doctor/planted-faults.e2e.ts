import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Journal } from "../../../src/journal/journal.js";
import { DirectoryLock } from "../../../src/journal/lock.js";
import { systemClock } from "../../../src/runtime/clock.js";
import { silentLog } from "../../../src/runtime/log.js";
import type { Status } from "../../../src/setup/doctor/finding.js";
import type { DoctorPorts } from "../../../src/setup/doctor/scene.js";
import type { Simulator } from "../../../src/simulator/simulator.js";
import { taken } from "../../journal/support/samples.js";
import { freePort, type MosquittoOptions } from "../../support/mosquitto.js";
import {
  canaries,
  examined,
  folder,
  loaded,
  mosquitto,
  plainConfiguration,
  platform,
  quick,
  type Section,
} from "./support/bench.js";
import { expired, forOtherName, selfSigned } from "./support/certificates.js";
import { forbiddingFront, httpsFront } from "./support/front.js";

/** What is planted: sections of the configuration that differ, and other circumstances. */
interface Planted {
  readonly more?: Section;
  readonly mqtt?: Section;
  readonly ports?: Partial<DoctorPorts>;
}

interface Row {
  readonly fault: string;
  readonly plant: (simulator: Simulator, home: string) => Planted | Promise<Planted>;
  readonly broker?: MosquittoOptions;
  readonly simulator?: Parameters<typeof platform>[0];
  /** No message of ours will come back, so waiting for one is in vain. */
  readonly isDeaf?: boolean;
  readonly check: string;
  readonly status: Status;
  readonly says: RegExp;
  readonly remedy: RegExp;
}

const users = { bridge: canaries.password };
const login = { username: "bridge", password: canaries.password };
const hour = 3_600_000;

const shifted = (byMs: number): DoctorPorts["clock"] => ({
  ...systemClock,
  now: () => systemClock.now() + byMs,
});

const platformRows: readonly Row[] = [
  {
    fault: "a list that is a page of a longer one",
    simulator: { faults: [{ fault: "paged", value: 2, chance: 1 }] },
    plant: () => ({}),
    check: "shapes.control/mqtt",
    status: "warning",
    says: /^2 controllers understood, but they are only a page of a longer list/,
    remedy: /params: \{ pageSize: "500" \}/,
  },
  {
    fault: "a wrong token",
    simulator: { auth: { tokens: "known", accepted: ["another"] } },
    plant: () => ({}),
    check: "token",
    status: "failed",
    says: /401/,
    remedy: /check platform\.token\), or the operator must first register this machine's address/,
  },
  {
    fault: "a host name that does not exist",
    plant: () => ({ more: { platform: { business_url: "https://greenhouse.invalid" } } }),
    check: "business.dns",
    status: "failed",
    says: /greenhouse\.invalid: /,
    remedy: /platform\.business_url|network/,
  },
  {
    fault: "nothing listens at the host",
    plant: async () => ({ more: { platform: { realtime_url: `http://127.0.0.1:${await freePort()}` } } }),
    check: "realtime.tls",
    status: "failed",
    says: /refuses connections/,
    remedy: /check host and port of platform\.realtime_url/,
  },
  {
    fault: "an expired certificate",
    plant: async ({ businessUrl }) => ({
      more: {
        platform: { business_url: await httpsFront(businessUrl, expired) },
      },
    }),
    check: "business.tls",
    status: "failed",
    says: /expired on 2021-01-01/,
    remedy: /operator must renew it/,
  },
  {
    fault: "a certificate for another name",
    plant: async ({ businessUrl }) => ({
      more: {
        platform: {
          business_url: await httpsFront(businessUrl, forOtherName),
        },
      },
    }),
    check: "business.tls",
    status: "failed",
    says: /for another name \(DNS:other\.example\) than 127\.0\.0\.1/,
    remedy: /check the host name in platform\.business_url/,
  },
  {
    fault: "a self-signed certificate",
    plant: async ({ realtimeUrl }) => ({
      more: {
        platform: { realtime_url: await httpsFront(realtimeUrl, selfSigned) },
      },
    }),
    check: "realtime.tls",
    status: "failed",
    says: /self-signed/,
    remedy: /NODE_EXTRA_CA_CERTS/,
  },
  {
    fault: "the two hosts swapped",
    plant: ({ businessUrl, realtimeUrl }) => ({
      more: { platform: { business_url: realtimeUrl, realtime_url: businessUrl } },
    }),
    check: "token",
    status: "failed",
    says: /swapped/,
    remedy: /exchange platform\.business_url and platform\.realtime_url/,
  },
  ...(["token", "realtime"] as const).map((check): Row => ({
    fault: `the two hosts swapped, with a sign-in (${check})`,
    simulator: {
      auth: { tokens: "known", signIn: { account: canaries.account, password: canaries.password } },
    },
    plant: ({ businessUrl, realtimeUrl }) => ({
      more: {
        platform: {
          business_url: realtimeUrl,
          realtime_url: businessUrl,
          token: undefined,
          sign_in: { body: { account: canaries.account, password: canaries.password } },
        },
      },
    }),
    check,
    status: "failed",
    says: /swapped/,
    remedy: /exchange platform\.business_url and platform\.realtime_url/,
  })),
  {
    fault: "the two hosts swapped, where each forbids what it does not know",
    plant: async ({ businessUrl, realtimeUrl }) => ({
      more: {
        platform: {
          business_url: await forbiddingFront(
            realtimeUrl,
            /^\/(?:ws|api\/(?:sensor-data|mqtt-client|device_status|get-value|set-value))/,
          ),
          realtime_url: await forbiddingFront(
            businessUrl,
            /^\/api\/(?:account|station|device(?!_)|weather|video|control)/,
          ),
        },
      },
    }),
    check: "token",
    status: "failed",
    says: /swapped/,
    remedy: /exchange platform\.business_url and platform\.realtime_url/,
  },
  {
    fault: "a maintenance page instead of answers",
    plant: ({ control }) => {
      control.fault({ fault: "html", operation: "control/mqtt", forMs: hour, status: 200 });
      return {};
    },
    check: "token",
    status: "failed",
    says: /a web page instead of data/,
    remedy: /maintenance page, or platform\.business_url is not the platform's address/,
  },
  {
    fault: "an account without controllers",
    plant: ({ control }) => {
      control.emptyList(true);
      return {};
    },
    check: "token",
    status: "warning",
    says: /lists no controllers/,
    remedy: /check that this account owns controllers/,
  },
  {
    fault: "a clock an hour behind",
    plant: () => ({ ports: { clock: shifted(-hour) } }),
    check: "clock",
    status: "failed",
    says: /60 min behind the platform's/,
    remedy: /timedatectl set-ntp true/,
  },
  {
    fault: "a time zone with which readings come from the future",
    plant: () => ({ more: { platform: { time_zone: "UTC" } } }),
    check: "time_zone",
    status: "failed",
    says: /8\.0 h in the future/,
    remedy: /set platform\.time_zone to \S+ \(or another zone that is UTC\+8 now\)/,
  },
  {
    fault: "a time zone with which readings are hours old",
    plant: () => ({ more: { platform: { time_zone: "Pacific/Kiritimati" } } }),
    check: "time_zone",
    status: "failed",
    says: /6\.0 h old/,
    remedy: /set platform\.time_zone to \S+ \(or another zone that is UTC\+8 now\)/,
  },
  {
    fault: "readings in a shape nobody would guess",
    simulator: { profile: "odd" },
    plant: () => ({}),
    check: "shapes.sensor-data",
    status: "failed",
    says: /fields: what, now, scale, dateTime/,
    remedy:
      /add platform: \{ shapes: \{ sensor-data: \{ .*name: what, value: now, query: \{ deviceCode: facility \} \} \} \}/,
  },
  {
    fault: "push channels that refuse the token",
    simulator: { auth: { checkRealtime: true } },
    plant: () => ({ more: { platform: { push: { credential: "none" } } } }),
    check: "push.set-value",
    status: "warning",
    says: /HTTP 401: the credential is refused/,
    remedy: /platform\.push\.credential/,
  },
  {
    fault: "push channels without a frame",
    plant: ({ control }) => {
      control.push("silent");
      return {};
    },
    check: "push.device-status",
    status: "warning",
    says: /no frame came within/,
    remedy: /nothing to do/,
  },
];

const brokerRows: readonly Row[] = [
  {
    fault: "no broker at the address",
    plant: async () => ({ mqtt: { url: `mqtt://127.0.0.1:${await freePort()}` } }),
    check: "broker",
    status: "failed",
    says: /nothing listens there/,
    remedy: /is the broker running, and is mqtt\.url right\?/,
  },
  {
    fault: "a wrong password at the broker",
    broker: { users },
    plant: () => ({ mqtt: { username: "bridge", password: "not-the-password" } }),
    check: "broker",
    status: "failed",
    says: /does not let us in|refused the user name or password/,
    remedy: /check mqtt\.username and mqtt\.password/,
  },
  ...([5, 4] as const).map((version): Row => ({
    fault: `a broker that refuses publishing, MQTT version ${version}`,
    broker: { users, acl: ["user bridge", "topic read greenhouse/#"] },
    isDeaf: true,
    plant: () => ({ mqtt: { ...login, protocol_version: version } }),
    check: "broker.publish",
    status: "failed",
    says: version === 5 ? /refuses what we publish/ : /never gave it back/,
    remedy: /allow the user of mqtt\.username to publish .*greenhouse\/# in the broker's access list/,
  })),
  {
    fault: "a broker that refuses subscribing",
    broker: { users, acl: ["user bridge", "topic write greenhouse/#"] },
    isDeaf: true,
    plant: () => ({ mqtt: login }),
    check: "broker.subscribe",
    status: "failed",
    says: /holds back the messages|does not let us subscribe/,
    remedy: /allow the user of mqtt\.username to subscribe to greenhouse\/# in the broker's access list/,
  },
  {
    fault: "a broker that refuses announcements to Home Assistant",
    broker: { users, acl: ["user bridge", "topic readwrite greenhouse/#"] },
    plant: () => ({ mqtt: login }),
    check: "broker.announce",
    status: "failed",
    says: /may not publish below homeassistant\//,
    remedy: /homeassistant\/device\/\+\/config/,
  },
  {
    fault: "a broker without retained messages",
    broker: { users, extra: ["retain_available false"] },
    plant: () => ({ mqtt: login }),
    check: "broker.retained",
    status: "failed",
    says: /keeps no retained messages/,
    remedy: /retain_available true/,
  },
  {
    fault: "a broker that lets anonymous clients in",
    plant: () => ({ mqtt: login }),
    check: "broker.anonymous",
    status: "warning",
    says: /lets clients in without a user name/,
    remedy: /allow_anonymous false/,
  },
  {
    fault: "a broker with a small packet limit",
    broker: { users, maxPacketSize: 20_000 },
    plant: () => ({ mqtt: login }),
    check: "broker.packet_size",
    status: "warning",
    says: /at most 20000 bytes/,
    remedy: /max_packet_size 266240/,
  },
  {
    fault: "MQTT 3.1.1",
    plant: () => ({ mqtt: { protocol_version: 4 } }),
    check: "broker.version",
    status: "warning",
    says: /MQTT 3\.1\.1/,
    remedy: /protocol_version to 5/,
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
      return { mqtt: { url: undefined }, more: { broker: { port } } };
    },
    check: "broker",
    status: "failed",
    says: /in use by another program/,
    remedy: /if that is Mosquitto, set mqtt\.url/,
  },
  {
    fault: "no Home Assistant at the broker",
    plant: () => ({}),
    check: "home_assistant",
    status: "warning",
    says: /nothing of Home Assistant/,
    remedy: /connect its MQTT integration to this broker/,
  },
];

const dataRows: readonly Row[] = [
  {
    fault: "a data directory that cannot be written",
    plant: async (_, home) => {
      await writeFile(join(home, "file"), "");
      return { more: { data_dir: "./file/data" } };
    },
    check: "data_dir",
    status: "failed",
    says: /cannot be written \(ENOTDIR\)/,
    remedy: /set data_dir to one/,
  },
  {
    fault: "a data directory in use by a bridge that is not at the broker",
    plant: async (_, home) => {
      const at = new Date(systemClock.now()).toISOString();
      const lock = await DirectoryLock.acquire(join(home, "data"), {
        boot: "0123456789abcdef",
        at,
        pid: process.pid,
        log: silentLog,
      });
      onTestFinished(() => lock.release());
      return {};
    },
    check: "lock",
    status: "warning",
    says: /in use by a running bridge \(process \d+, since .*not online at this broker/,
    remedy: /a second bridge needs a data_dir of its own/,
  },
  {
    fault: "a command that was in flight when the bridge died",
    plant: async (_, home) => {
      await mkdir(join(home, "data"), { recursive: true });
      const journal = await Journal.open(join(home, "data", "journal"), {
        clock: systemClock,
        log: silentLog,
      });
      await journal.append(taken("one"), { durable: true });
      await journal.close();
      return {};
    },
    check: "last_run",
    status: "warning",
    says: /1 command has no result yet/,
    remedy: /reads them back .* sends nothing again/,
  },
];

describe("each planted fault is named with its remedy", () =>
  it.each([...platformRows, ...brokerRows, ...dataRows])("$fault", { timeout: 60_000 }, async (row) => {
    const simulator = await platform(row.simulator);
    const broker = await mosquitto(row.broker);
    const home = await folder();
    const { more, mqtt, ports } = await row.plant(simulator, home);
    const section = plainConfiguration(simulator, { url: broker.url, ...mqtt }, more);
    const { findings, of } = await examined(await loaded(section, home), ports, [], {
      ...quick,
      ...(row.isDeaf === true && { roundTripMs: 500 }),
    });
    const { status, summary, remedy = "" } = of(row.check);
    expect(`${status} ${summary}`).toMatch(new RegExp(`^${row.status} `));
    expect(summary).toMatch(row.says);
    expect(remedy).toMatch(row.remedy);
    const shown = JSON.stringify(findings);
    for (const canary of Object.values(canaries)) expect(shown).not.toContain(canary);
    expect(simulator.control.posts()).toEqual([]);
  }));
