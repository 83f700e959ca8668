// The most that a fleet of that many accounts may need, also after a restart of the broker. Other numbers of accounts
// are not judged.
const bars = {
  200: { rss_mib: 350, rss_after_restart_mib: 350, all_read_s: 60, restart_all_read_s: 60 },
  1_000: {
    ...{ rss_mib: 1_229, rss_after_restart_mib: 1_229, all_read_s: 120, restart_all_read_s: 120 },
    ...{ cpu_percent_of_a_core: 50, restart_cpu_s_of_a_minute: 30 },
  },
};

/** Figures worse than their bar, each as a sentence; null stands for never reached. */
export const overBars = (figures) =>
  Object.entries(bars[figures.accounts] ?? {}).flatMap(([name, most]) => {
    const value = figures[name] ?? null;
    if (value !== null && value <= most) return [];
    return [
      `${figures.accounts} accounts: ${name} is ${value === null ? "never" : value.toFixed(1)}, and not ${most} at most`,
    ];
  });
