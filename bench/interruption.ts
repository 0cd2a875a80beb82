const controller = new AbortController();

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());

/** Aborted by SIGINT or SIGTERM. Pending operations then fail, and every server is stopped. */
export const interruption = controller.signal;
