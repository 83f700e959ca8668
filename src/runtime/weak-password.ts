/*
 * Who reads a configuration and who starts the broker must judge a password alike, or `check` passes what does not start.
 */

export const shortestPassword = 12;
export const fewestCharacters = 5;

/** Of the commonest thousand, those that are long enough to pass the length rule, and the likely ones of this product. */
const common = new Set([
  "123456789012",
  "1234567890123",
  "1q2w3e4r5t6y",
  "1qaz2wsx3edc",
  "abcdefghijkl",
  "administrator",
  "adminadminadmin",
  "changemechangeme",
  "greenhouse123",
  "greenhouse1234",
  "greenhouse2mqtt",
  "homeassistant",
  "homeassistant1",
  "iloveyou1234",
  "letmeinletmein",
  "mosquitto123",
  "passwordpassword",
  "password1234",
  "password12345",
  "password123456",
  "q1w2e3r4t5y6",
  "qazwsxedcrfv",
  "qwerty123456",
  "qwertyuiop12",
  "qwertyuiop123",
  "qwertyuiop[]",
  "raspberrypi1",
  "unbelievable",
  "welcome12345",
  "zaq12wsxcde3",
]);

/** Why a password must not guard a broker that others can reach; null when nothing speaks against it. */
export function passwordWeakness(password: string): string | null {
  if (password.length < shortestPassword) return `it is shorter than ${shortestPassword} characters`;
  if (common.has(password.toLowerCase())) return "it is one of the commonest passwords";
  if (new Set(password).size < fewestCharacters)
    return `it has fewer than ${fewestCharacters} different characters`;
  return null;
}
