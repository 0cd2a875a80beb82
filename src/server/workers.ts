import type { ChildProcess } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { AggregatorRegistry, type Registry } from 'prom-client';
import { type Config, WORKER_MARK } from '../platform/config/config';
import { UserError } from '../platform/errors/user-error';
import { Channel } from '../platform/runtime/channel';
import { SECOND_MS } from '../platform/runtime/time';
import type { LogStream } from './logging/logger';

type MetricList = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** The settings that a worker gets from the primary process. */
export type WorkerConfig = Pick<Config, 'texts'> & { readonly databaseUrl: string };

/** A worker that ends earlier has failed. */
const MIN_LIFE_MS = 10 * SECOND_MS;
/** The failures in a row that end the service, for each worker. */
const MAX_FAILURES = 10;
const RETRY_MS = SECOND_MS;
/** The longest wait for the metrics of a worker, and for the output of one that has ended. */
const WAIT_MS = SECOND_MS;
/** The longest stop of a worker; then it is killed. */
const STOP_LIMIT_MS = 20 * SECOND_MS;

/** A process that serves requests. */
interface Member {
  readonly worker: Worker;
  readonly channel: Channel;
  readonly startedAt: number;
  /** Resolves with its address when it listens, or with undefined when it has ended. */
  readonly started: Promise<string | undefined>;
  /** Resolves with the exit status and the signal. */
  readonly gone: Promise<readonly (string | number | null)[]>;
  isListening: boolean;
  reason?: string;
  /** Those of the last scrape. */
  metrics: MetricList;
}

const kill = ({ worker }: Member): boolean => worker.process.kill('SIGKILL');

/** The processes that serve the requests of a service (WORKERS). One that ends is replaced. */
export class Workers {
  /** Resolves with a sentence if the workers end again and again. */
  readonly failed: Promise<string>;
  private fail: (reason: string) => void = () => undefined;
  private readonly logger = new Logger('Workers');
  private readonly members = new Set<Member>();
  /** The counters of ended workers: the sum of a service does not fall. */
  private ended: Promise<MetricList> = Promise.resolve([]);
  private failures = 0;
  private isStopping = false;

  constructor(
    private readonly count: number,
    private readonly output: LogStream,
  ) {
    this.failed = new Promise((resolve) => (this.fail = resolve));
  }

  /** True while a worker accepts connections. */
  get listening(): boolean {
    return !this.isStopping && [...this.members].some(({ isListening }) => isListening);
  }

  /**
   * Starts the first worker, which proves the settings, then the others.
   *
   * @param follow adds the handlers for the questions of a worker
   * @returns the address
   * @throws UserError if the first worker does not start
   */
  async start(config: WorkerConfig, follow: (worker: Channel) => void): Promise<string> {
    if (!cluster.isPrimary)
      throw new UserError(
        'WORKERS needs a process without a cluster: set WORKERS=1, or do not use a cluster mode.',
      );
    // Each worker accepts connections itself, so a worker that ends takes none with it that waits.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    const begin = (): Member => this.begin(config, follow);
    const first = begin();
    const url = await first.started;
    if (url === undefined)
      throw new UserError(first.reason ?? 'A worker ended during its start. Start the service again.');
    const others = Array.from({ length: this.count - 1 }, begin);
    for (const member of [first, ...others]) void this.keep(member, begin);
    return url;
  }

  /** Lets each worker respond to its requests, and waits for its end. @param begun gets the number of these requests */
  async stop(begun: (pending: number) => void): Promise<void> {
    this.isStopping = true;
    const members = [...this.members];
    const timer = setTimeout(() => members.forEach(kill), STOP_LIMIT_MS);
    members.filter(({ isListening }) => !isListening).forEach(kill);
    const asked = members.map(({ channel }) => channel.ask<number>('stop').catch(() => 0));
    begun((await Promise.all(asked)).reduce((sum, pending) => sum + pending, 0));
    await Promise.all(members.map(({ gone }) => gone));
    clearTimeout(timer);
  }

  /** Adds the metrics of the workers to those of this process. A worker that hangs counts as at the last scrape. */
  async total(own: readonly Registry[]): Promise<Registry> {
    // With the members of the same moment, no counter is added twice.
    const lists = [...own.map((registry) => registry.getMetricsAsJSON()), this.ended];
    const ofWorkers = [...this.members].map(async (member) => {
      const asked = member.channel.ask<MetricList | undefined>('metrics').catch(() => undefined);
      const found = await Promise.race([asked, sleep(WAIT_MS, undefined, { ref: false })]);
      return (member.metrics = found ?? member.metrics);
    });
    return AggregatorRegistry.aggregate(await Promise.all([...lists, ...ofWorkers]));
  }

  private begin(config: WorkerConfig, follow: (worker: Channel) => void): Member {
    const worker = cluster.fork({ [WORKER_MARK]: 'true' }).on('error', () => undefined);
    const channel = new Channel(worker);
    const gone = endOf(worker.process);
    const started = new Promise<string | undefined>((resolve) => {
      channel.handle('listening', (url: string) => {
        member.isListening = true;
        resolve(url);
      });
      void gone.then(() => resolve(undefined));
    });
    const facts = { worker, channel, gone, started, startedAt: performance.now() };
    const member: Member = { ...facts, isListening: false, metrics: [] };
    this.members.add(member);
    channel.handle('settings', () => config);
    channel.handle('failed', (reason: string) => void (member.reason = reason));
    // The last one closes the port of this process, too.
    channel.handle('close', () => void worker.disconnect());
    follow(channel);
    worker.on('disconnect', () => (member.isListening = false));
    this.copyLines(worker);
    void gone.then(() => this.members.delete(member));
    return member;
  }

  /** Replaces a worker whenever it ends. */
  private async keep(first: Member, begin: () => Member): Promise<void> {
    for (let member = first; ; member = begin()) {
      const isStarted = (await member.started) !== undefined;
      const [status, signal] = await member.gone;
      if (this.isStopping) return;
      if (member.reason !== undefined) process.stderr.write(`${member.reason}\n`);
      this.logger.warn(`A worker has ended (${signal ?? `exit status ${status}`}). The service replaces it.`);
      const sums = member.metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
      const { ended } = this;
      this.ended = ended
        .then((known) => AggregatorRegistry.aggregate([known, sums]).getMetricsAsJSON())
        .catch(() => ended);
      this.failures = performance.now() - member.startedAt < MIN_LIFE_MS ? this.failures + 1 : 0;
      if (this.failures >= MAX_FAILURES * this.count)
        this.fail(
          'The workers end again and again. Read the log, fix the cause and start the service again.',
        );
      if (!isStarted) await sleep(RETRY_MS);
      if (this.isStopping) return;
    }
  }

  /** Copies whole lines of its log: lines of different workers must not mix. */
  private copyLines({ process: { stdout } }: Worker): void {
    let rest = '';
    stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.output.write(`${line}\n`);
    });
  }
}

/** Waits for the end of a process and of its output, which a program that it has started may keep open. */
async function endOf(child: ChildProcess): Promise<readonly (string | number | null)[]> {
  const closed = once(child, 'close').catch(() => undefined);
  const facts = await once(child, 'exit').catch((error: Error) => [error.message]);
  await Promise.race([closed, sleep(WAIT_MS, undefined, { ref: false })]);
  return facts;
}
