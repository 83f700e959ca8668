/** Called so, it says what it is and of when. */
export const backupName = (now: number, isWithPassword: boolean): string =>
  `greenhouse2mqtt-${new Date(now).toISOString().slice(0, 16).replace(/[T:]/g, "-")}.tar.gz${isWithPassword ? ".age" : ""}`;

/** Also of one that somebody called otherwise: nothing else of a bridge ends so. */
export const isBackupName = (name: string): boolean => /\.tar\.gz(?:\.age)?$/.test(name);
