import { spawnSync } from 'node:child_process';
import { type Process, startProcess } from './servers';

export interface Redis extends Process {
  readonly url: string;
}

export const hasRedis = spawnSync('redis-server', ['--version']).error === undefined;

/** Starts a Redis without persistence. */
export async function startRedis(): Promise<Redis> {
  const started = await startProcess('redis-server', (port) => ({
    args: ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
  }));
  return { ...started, url: `redis://127.0.0.1:${started.port}` };
}
