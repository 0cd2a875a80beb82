const controller = new AbortController();

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());

/** Aborted when somebody ends the measurement: what is waited for fails, and on the way out everything is stopped. */
export const interruption = controller.signal;
