import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { Logger } from '@nestjs/common';
import { AggregatorRegistry, type Registry } from 'prom-client';
import { WORKER_VARIABLE } from '../config/config';
import { UserError } from '../config/user-error';
import { SECOND_MS } from '../time/time';
import type { DestinationStream } from 'pino';

/** A worker says that it listens, or that the primary process may close the port. */
export interface WorkerMessage {
  readonly url?: string;
  readonly isClosing?: true;
  /** The response to the message that asks for them. */
  readonly metrics?: readonly object[];
}

/** The longest stop of a worker; then it is killed. */
const STOP_LIMIT_MS = 20 * SECOND_MS;

/** The processes that serve the requests of a service (WORKERS), each an ordinary instance. One that ends is replaced. */
export class Workers {
  private readonly logger = new Logger('Workers');
  /** Those that have not ended. */
  private readonly workers = new Set<Worker>();
  private readonly ready = new Set<Worker>();
  /** True between the start of the first worker and the stop: a worker that ends is replaced. */
  private isRunning = false;

  constructor(
    private readonly count: number,
    private readonly output: DestinationStream,
  ) {}

  /** True while a worker accepts connections. */
  get listening(): boolean {
    return this.isRunning && this.ready.size > 0;
  }

  /**
   * Starts the first worker, which proves the settings, then the others.
   *
   * @returns the address
   * @throws UserError if the first worker does not start
   */
  async start(databaseUrl: string): Promise<string> {
    if (!cluster.isPrimary)
      throw new UserError(
        'WORKERS needs a process without a cluster: set WORKERS=1, or do not use a cluster mode.',
      );
    // Each worker accepts connections itself, so a worker that ends takes none with it that waits.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    const url = await new Promise<string>((resolve, reject) => {
      this.fork(databaseUrl)
        .on('message', ({ url: own }: WorkerMessage) => own !== undefined && resolve(own))
        // It has written the reason.
        .on('exit', () => reject(new UserError('The first worker ended during its start.')));
    });
    this.isRunning = true;
    for (let at = 1; at < this.count; at += 1) this.fork(databaseUrl);
    return url;
  }

  /** Lets each worker respond to its requests, and waits for its end. */
  async stop(): Promise<void> {
    this.isRunning = false;
    // Unlike `worker.once`, `once` rejects for an error of the channel, such as a message to a worker that has ended.
    const ends = [...this.workers].map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
    const kill = (signal: NodeJS.Signals): void =>
      this.workers.forEach((worker) => worker.process.kill(signal));
    const timer = setTimeout(kill, STOP_LIMIT_MS, 'SIGKILL');
    kill('SIGTERM');
    await Promise.all(ends);
    clearTimeout(timer);
  }

  /** Adds the metrics of the workers to those of this process. A worker that hangs or is closing is left out. */
  async metrics(own: readonly object[]): Promise<Registry> {
    const lists = [...this.ready].map(async (worker) => {
      const signal = AbortSignal.timeout(SECOND_MS);
      worker.send('metrics');
      const [message]: WorkerMessage[] = await once(worker, 'message', { signal }).catch(() => []);
      return message?.metrics ?? [];
    });
    return AggregatorRegistry.aggregate([own, ...(await Promise.all(lists))]);
  }

  private fork(databaseUrl: string): Worker {
    const worker = cluster.fork({ [WORKER_VARIABLE]: 'true' });
    // Unlike a variable, a message is in no file of /proc.
    worker.send(databaseUrl);
    this.workers.add(worker);
    this.copyLines(worker);
    return worker
      .on('error', () => undefined)
      .on('message', ({ url, isClosing }: WorkerMessage) => {
        if (url !== undefined) this.ready.add(worker);
        // The last one closes the port of this process, too.
        if (isClosing) worker.disconnect();
      })
      .on('disconnect', () => this.ready.delete(worker))
      .on('exit', (status, signal) => {
        this.workers.delete(worker);
        if (!this.isRunning) return;
        this.logger.warn(
          `A worker has ended (${signal || `exit status ${status}`}). The service replaces it.`,
        );
        setTimeout(() => this.isRunning && this.fork(databaseUrl), SECOND_MS);
      });
  }

  /** Copies whole lines of its log: lines of different workers must not mix. */
  private copyLines({ process: { stdout } }: Worker): void {
    let rest = '';
    stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      const end = chunk.lastIndexOf('\n') + 1;
      if (end > 0) this.output.write(rest + chunk.slice(0, end));
      rest = (end > 0 ? '' : rest) + chunk.slice(end);
    });
  }
}
