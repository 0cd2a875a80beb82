import type { Operation } from './api-document';
import { codeOf, type Probe, shown } from './probe';
import type { Resources } from './resources';

/** Requests with values to one operation. */
export abstract class ValueRequests {
  constructor(
    protected readonly probe: Probe,
    protected readonly resources: Resources,
    protected readonly operation: Operation,
  ) {}

  protected async requireAccepted(path: string, what: string, body?: unknown): Promise<boolean> {
    const response = await this.probe.send(this.operation, { path, body, what });
    if (response.status !== 400) return true;
    const problem = `rejects ${what} (${codeOf(response)}: ${shown(response.json.message)})`;
    this.probe.note(this.operation.title, problem);
    return false;
  }

  protected noteAccepted(what: string, place: string): void {
    this.probe.note(this.operation.title, `accepts ${what}, which its document forbids`, `accepts ${place}`);
  }

  protected send(path: string | undefined, what: string, body?: string) {
    const { operation, resources } = this;
    return this.probe.send(operation, {
      path: path ?? resources.pathOf(operation),
      body: body ?? resources.newBody(operation),
      what,
    });
  }
}
