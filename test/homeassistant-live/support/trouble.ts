/** Begins each record of its log; a traceback follows in lines of its own. */
const recordBegin = /\n(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+)/;

/**
 * Records of the log that concern MQTT, at warning or above: what its part for MQTT wrote, and faults of others that passed through it, as
 * an exception that no task retrieved. Those of `met` and `radio_browser`, which onboarding starts and whose packages are not
 * installed here, stand in every log and are not ours.
 */
export const troubleIn = (log: string): readonly string[] =>
  log
    .split(recordBegin)
    .filter((record) => /^\S+ \S+ (WARNING|ERROR|CRITICAL) /.test(record))
    .filter((record) => /\[homeassistant\.components\.mqtt|\/(components\/mqtt|paho)\//.test(record))
    // 2024.11 warns where a device that is withdrawn once more is gone already.
    .filter((record) => !record.includes("No device components to cleanup"));
