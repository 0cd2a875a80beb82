import { type Operation, type Parameter, parametersIn } from './api-document';
import { BODIES, hostileValues, PARAMETERS, UNKNOWN_IDS } from './hostile-values';
import { isMembers, type JsonText, removeAt, repeatMembers, replaceAt } from './json-body';
import { codeOf, isSuccess, type Probe, shown } from './probe';
import type { Resources } from './resources';
import { encoded, exampleOf, type Place, type Schema } from './schema';

/** Requests with one body, after the first. */
const REPETITIONS = 4;

/** Sends examples and hostile values: in each parameter, in each member of a body, and as the whole body. */
export async function checkValues(probe: Probe, resources: Resources): Promise<void> {
  for (const operation of probe.api.operations) {
    const check = new ValueCheck(probe, resources, operation);
    await check.checkExamples();
    await check.checkPath();
    await check.checkQuery();
    if (operation.body) await check.checkBody(operation.body);
  }
}

const PLAIN_NUMBER = /^-?\d+(\.\d+)?$/;

class ValueCheck {
  constructor(
    private readonly probe: Probe,
    private readonly resources: Resources,
    private readonly operation: Operation,
  ) {}

  /** A documented example is accepted, or rejected for a reason of its own, such as a conflict. */
  async checkExamples(): Promise<void> {
    const { operation, resources } = this;
    const path = resources.pathOf(operation);
    const body = resources.newBody(operation);
    let isAccepted = await this.requireAccepted(path, 'the documented example', body);
    // The resource may exist now, or use up something that several requests share.
    for (let left = body === undefined ? 0 : REPETITIONS; isAccepted && left > 0; left -= 1) {
      isAccepted = await this.requireAccepted(path, 'the documented example, sent again', body);
    }
    for (const parameter of parametersIn(operation, 'query')) {
      const value = parameter.example ?? exampleOf(parameter.schema, this.probe.api.schemas);
      if (value === undefined) continue;
      const text = `${parameter.name}=${encoded(value)}`;
      await this.requireAccepted(
        withQuery(path, text),
        `${parameter.name} = ${shown(value)}`,
        resources.newBody(operation),
      );
    }
  }

  async checkPath(): Promise<void> {
    const { operation, probe, resources } = this;
    const [last] = parametersIn(operation, 'path').slice(-1);
    if (!last || !operation.path.endsWith('}')) return;
    for (const value of PARAMETERS)
      await this.send(resources.pathOf(operation, value), `${last.name} = ${shown(value)}`);
    if (operation.object.responses['404'] === undefined) return;
    for (const id of UNKNOWN_IDS) {
      const response = await this.send(resources.pathOf(operation, id), `${last.name} = ${id}`);
      if (isSuccess(response)) {
        probe.note(
          operation.title,
          `responds ${response.status} if ${last.name} is unknown, and documents 404`,
        );
      }
    }
  }

  async checkQuery(): Promise<void> {
    const path = this.resources.pathOf(this.operation);
    for (const parameter of parametersIn(this.operation, 'query')) {
      const { name } = parameter;
      for (const value of ['', ...PARAMETERS]) {
        const what = `${name} = ${shown(value)}`;
        const { status } = await this.send(withQuery(path, `${name}=${value}`), what);
        if (status < 300 && !this.allows(parameter, value)) this.noteAccepted(what, name);
      }
      await this.send(withQuery(path, `${name}=1&${name}=2`), `${name} = (twice)`);
      await this.send(withQuery(path, `${name}[a]=1`), `${name}[a] = 1`);
    }
  }

  async checkBody(schema: Schema): Promise<void> {
    for (const text of BODIES) {
      const response = await this.send(undefined, `body = ${shown(text)}`, text);
      if (isSuccess(response)) this.noteAccepted(`body = ${shown(text)}`, 'body');
    }
    for (const [place, member] of this.probe.api.placesOf(schema)) {
      const item = exampleOf(member.items ?? {}, this.probe.api.schemas);
      for (const value of hostileValues(member, item)) {
        const body = replaceAt(this.resources.newBody(this.operation), place, value);
        if (body) await this.checkMember(schema, place, body, value.text);
      }
      const body = removeAt(this.resources.newBody(this.operation), place);
      if (body) await this.checkMember(schema, place, body, '(missing)');
    }
    const example = this.resources.newBody(this.operation);
    if (!isMembers(example)) return;
    for (const text of repeatMembers(example)) {
      const response = await this.send(undefined, `body = ${shown(text)}`, text);
      if (isSuccess(response)) this.noteAccepted('a body with two members of one name', 'duplicate');
    }
  }

  /** A body that differs from its schema must not be accepted. */
  private async checkMember(schema: Schema, place: Place, body: JsonText, text: string): Promise<void> {
    const name = place.join('.');
    const what = `${name} = ${shown(text)}`;
    const response = await this.send(undefined, what, body.text);
    if (!isSuccess(response)) return;
    const [error] = this.probe.api.errors(schema, body.value);
    if (error) this.noteAccepted(`${what} (${`${error.pointer} ${error.rule}`.trim()})`, name);
  }

  private allows({ schema }: Parameter, text: string): boolean {
    const { type } = schema;
    const isNumber = type === 'integer' || type === 'number';
    const value = isNumber && PLAIN_NUMBER.test(text) ? Number(text) : text;
    return type === 'array' || type === 'boolean' || this.probe.api.errors(schema, value).length === 0;
  }

  private async requireAccepted(path: string, what: string, body?: unknown): Promise<boolean> {
    const response = await this.probe.send(this.operation, { path, body, what });
    if (response.status !== 400) return true;
    const problem = `rejects ${what} (${codeOf(response)}: ${shown(response.json.message)})`;
    this.probe.note(this.operation.title, problem);
    return false;
  }

  private noteAccepted(what: string, place: string): void {
    this.probe.note(this.operation.title, `accepts ${what}, which its document forbids`, `accepts ${place}`);
  }

  private send(path: string | undefined, what: string, body?: string) {
    const { operation, resources } = this;
    return this.probe.send(operation, {
      path: path ?? resources.pathOf(operation),
      body: body ?? resources.newBody(operation),
      what,
    });
  }
}

function withQuery(path: string, text: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}${text}`;
}
