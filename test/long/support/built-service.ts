import { type ChildProcess } from 'node:child_process';
import { runBuilt, running, type RunningService } from '../../support/service';

/** The built service in its own process, which specs kill. */
export class BuiltService {
  private constructor(
    private readonly environment: Record<string, string>,
    private process: RunningService,
  ) {}

  static async start(environment: Record<string, string>): Promise<BuiltService> {
    return new BuiltService(environment, await running(runBuilt('main', [], environment)));
  }

  get url(): string {
    return this.process.url;
  }

  get child(): ChildProcess {
    return this.process.child;
  }

  /** Ends it by SIGKILL, if it has not ended, and starts it again. */
  async restart(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.process.ended;
    this.process = await running(runBuilt('main', [], this.environment));
  }

  /** Ends it by SIGTERM. */
  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    expect(await this.process.ended).toBe(0);
  }
}
