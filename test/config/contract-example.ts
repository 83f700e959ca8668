/** The configuration of the contract, without its comments. */
export const contractExample = `platform:
  business_url: https://business.example.com
  realtime_url: https://realtime.example.com
  allow_insecure: false
  token: !env GREENHOUSE_TOKEN
  time_zone: Asia/Shanghai
  timeouts: { connect: 5s, read: 15s, control: 30s }
  requests_per_minute: 300
  concurrency: 4
  push: { enabled: true, credential: header, query_name: token }
  shapes: {}
mqtt:
  url: mqtt://localhost:1883
  username: bridge
  password: !secret mqtt_password
  client_id: greenhouse2mqtt
  base_topic: greenhouse
  protocol_version: 5
  tls: { ca: , cert: , key: , reject_unauthorized: true }
broker:
  host: 127.0.0.1
  port: 1883
  websocket_port: 9001
  users: [ { username: ha, password: !secret ha, publish: ["greenhouse/+/actuator/+/set"], subscribe: ["#"] } ]
  tls: { cert: , key: , port: 8883 }
  limits: {}
homeassistant: { enabled: true, discovery_prefix: homeassistant, status_topic: homeassistant/status, language: en }
polling: { controllers: 5m, sensors: 1m, running_status: 5m, actuators: 2m, stale_after: 15m }
commands:
  read_only: false
  dry_run: false
  max_age: 60s
  require_age: false
  require_by: false
  min_interval: 2s
  raw_addresses: false
  response_topics: []
http: { host: 127.0.0.1, port: 8099, token: , allowed_hosts: [] }
data_dir: ./data
log: { level: info, format: auto }
mirror: all
controllers:
  GH-0001:
    id: east
    name: East house
    area: East
    actuators:
      left_skylight: { kind: skylight, address: 101, travel_time: 90s }
      roof_fans:     { kind: fan_wet_curtain, address: 140 }
      valve_1:       { kind: irrigation, address: 210, name: Bed 1 }
      grow_light:    { kind: light, address: 220, homeassistant: { as: switch } }
      vent_motor:    { kind: motor, address: 300, values: { open: "00000001", stop: "00000100" } }
      special:       { kind: custom, address: 400, values: { low: "0110", high: "1001" } }
    sensors:
      air_temperature: { from: 空气温度, kind: temperature, unit: °C, offset: -0.4 }
      light:           { from: 光照, kind: illuminance, scale: 1000, unit: lx }
      broken_probe:    { from: t7, ignore: true }
    parameters:
      ec_target: { address: 501, name: EC target, unit: mS/cm, scale: 0.01, decimals: 2, writable: { min: 0, max: 5, step: 0.1 } }
  GH-0002: { ignore: true }
`;

export const contractSurroundings = {
  env: { GREENHOUSE_TOKEN: "token-of-the-account" },
  secrets:
    "mqtt_password: bridge-password\nha: scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA\n",
};
