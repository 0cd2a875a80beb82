import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { RedisClient } from './redis.client';
import type { RedisConnector } from './redis.connector';
import { keysOf, PROBE, probeKeysOf, type ScriptResult, type ScriptCharge, TAKE } from './redis.script';
import { withTimeout } from './redis.timeout';

/** Longest wait of a start for the first connection. */
const START_LIMIT_MS = 2_000;
/** Pause before each attempt to connect again. */
const RETRY_DELAY_MS = 200;

type State = 'unknown' | 'shared' | 'local' | 'closed';

/**
 * Runs the script in Redis while Redis is available.
 *
 * The first error of a connection closes it and rejects its pending commands; from then on no request waits for Redis.
 * The link opens a new connection every fraction of a second, and uses it if a probe succeeds.
 */
export class RedisLink {
  private readonly logger = new Logger('RateLimit');
  private state: State = 'unknown';
  /** Closes the latest connection; aborted after its first error. */
  private connection = new AbortController();
  private client: RedisClient | undefined;
  /** The owner of the failed charge. The probe uses the same node of a cluster. */
  private suspect = 'none';
  private retryTimer: NodeJS.Timeout | undefined;
  private reportState: () => void = () => undefined;

  /**
   * @param timeoutMs longest wait for a response
   * @param rules from `rulesOf`
   */
  constructor(
    private readonly connector: Pick<RedisConnector, 'load' | 'connect'>,
    private readonly timeoutMs: number,
    private readonly rules: string,
    private readonly retryDelayMs = RETRY_DELAY_MS,
  ) {}

  /** True while the connection is usable. */
  get isShared(): boolean {
    return this.state === 'shared';
  }

  /** Connects. Resolves without a connection if Redis is unavailable; the link then continues to retry. */
  async open(): Promise<void> {
    const isKnown = new Promise<void>((resolve) => {
      this.reportState = resolve;
    });
    await this.connector.load();
    void this.connect();
    await Promise.race([isKnown, sleep(START_LIMIT_MS, undefined, { ref: false })]);
    if (this.state === 'unknown') this.leave(this.connection, new Error('no response'));
  }

  /** Decides on a charge by the script. Rejects if Redis is unavailable. */
  async run(owner: string, keyId: string | undefined, charge: ScriptCharge): Promise<ScriptResult> {
    const { connection, client } = this;
    try {
      return await this.ask(client, keysOf(owner, keyId), charge);
    } catch (error) {
      // Other charges that were under way fail with the same connection.
      if (!connection.signal.aborted) this.suspect = owner;
      this.leave(connection, error);
      throw error;
    }
  }

  close(): void {
    this.state = 'closed';
    clearTimeout(this.retryTimer);
    this.connection.abort();
  }

  /** Opens a connection and tests it: a Redis that is full, loading or read-only accepts connections, too. */
  private async connect(): Promise<void> {
    const connection = new AbortController();
    this.connection = connection;
    try {
      const onError = (error: Error): void => this.leave(connection, error);
      const client = await this.connector.connect(connection.signal, onError);
      await this.ask(client, probeKeysOf(this.suspect), PROBE);
      this.join(connection, client);
    } catch (error) {
      this.leave(connection, error);
    }
  }

  private join({ signal }: AbortController, client: RedisClient): void {
    if (signal.aborted) return;
    if (this.state === 'local') {
      this.logger.warn('Redis is available again. The instances share their counters again.');
    }
    this.client = client;
    this.changeTo('shared');
  }

  /** Closes a connection after its first error. The next one may reach another server, such as a new master. */
  private leave(connection: AbortController, error: unknown): void {
    if (connection.signal.aborted) return;
    if (this.state !== 'local') {
      this.logger.warn(
        `Redis is unavailable (${messageOf(error)}). This instance now enforces limits locally, starting from its last known counters.`,
      );
    }
    this.changeTo('local');
    connection.abort();
    this.retryTimer = setTimeout(() => void this.connect(), this.retryDelayMs).unref();
  }

  private changeTo(state: State): void {
    this.state = state;
    this.reportState();
  }

  private async ask(
    client: RedisClient | undefined,
    keys: string[],
    charge: ScriptCharge,
  ): Promise<ScriptResult> {
    if (!client) throw new Error('there is no connection');
    const input = { keys, arguments: [JSON.stringify(charge), this.rules] };
    const response = client.evalSha(TAKE.sha, input).catch((error: unknown) => {
      if (!messageOf(error).startsWith('NOSCRIPT')) throw error;
      // Redis remembers the script from now on.
      return client.eval(TAKE.lua, input);
    });
    const result: ScriptResult = JSON.parse(String(await withTimeout(this.timeoutMs, response)));
    return result;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
