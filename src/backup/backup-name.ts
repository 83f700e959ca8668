/** The name of a backup, with its date and kind. */
export const backupName = (now: number, isWithPassword: boolean): string =>
  `greenhouse2mqtt-${new Date(now).toISOString().slice(0, 16).replace(/[T:]/g, "-")}.tar.gz${isWithPassword ? ".age" : ""}`;

/** Whether a file is a backup, even if renamed: no other file of a bridge ends so. */
export const isBackupName = (name: string): boolean => /\.tar\.gz(?:\.age)?$/.test(name);
