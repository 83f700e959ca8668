/**
 * What can be a device code, as the platform writes it: up to 64 characters without controls and without blanks around them. `.` and `..`
 * between slashes are none, for there they would mean another place.
 */
export const deviceCodePattern =
  /^(?!\s)(?!.*\s$)(?!(?:.*[/\\])?\.{1,2}(?:[/\\]|$))[^\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]{1,64}$/u;
