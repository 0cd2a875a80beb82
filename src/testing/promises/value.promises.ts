import { type Api, codeOf, isSuccess, shown } from '../api';
import { type Operation, type Parameter, parametersIn, type Schema, withQuery } from '../api-document';
import { changedAt, isMembers, jsonIn, jsonOf, type Place, replaceAt, valueAt } from '../json';
import { type Resources, UNKNOWN_IDS } from '../resources';
import { BODIES, HOSTILE_VALUES, invalidValues, PARAMETERS } from './hostile-values';
import type { ApiPromise } from './promise';

/** More of one parameter would make the URL too long. */
const MAX_REPEATED = 500;
const PLAIN_NUMBER = /^-?\d+(\.\d+)?$/;

/** Values of bodies and parameters: invalid ones are rejected, and none is a 5xx. */
export const valuePromises: readonly ApiPromise[] = [
  {
    title: 'an unknown id gets 404',
    check: (api, resources) => ofEach(api, resources, (values) => values.checkPath()),
  },
  {
    title: 'an invalid value gets 400 and changes nothing',
    async check(api, resources) {
      if (api.isThorough) await ofEach(api, resources, (values) => values.checkExamples());
      await ofEach(api, resources, (values) => values.checkQuery());
      await ofEach(api, resources, (values) => values.checkBody());
    },
  },
];

async function ofEach(
  api: Api,
  resources: Resources,
  check: (values: Values) => Promise<void>,
): Promise<void> {
  for (const operation of api.operations) {
    if (api.may(operation) && resources.isOwn(operation)) await check(new Values(api, resources, operation));
  }
}

class Values {
  constructor(
    private readonly api: Api,
    private readonly resources: Resources,
    private readonly operation: Operation,
  ) {}

  async checkPath(): Promise<void> {
    const { api, operation, resources } = this;
    const [last] = parametersIn(operation, 'path').slice(-1);
    if (!last || !operation.path.endsWith('}')) return;
    for (const value of api.isThorough ? PARAMETERS : ['x']) {
      await this.send(resources.pathOf(operation, value), `${last.name} = ${shown(value)}`);
    }
    if (operation.object.responses['404'] === undefined) return;
    for (const id of api.isThorough ? UNKNOWN_IDS : UNKNOWN_IDS.slice(0, 1)) {
      const { status } = await this.send(resources.pathOf(operation, id), `${last.name} = ${id}`);
      if (status === 404 || status === 400) continue;
      const problem = `responds ${status} if ${last.name} is unknown, and documents 404`;
      api.note(operation.title, problem);
    }
  }

  /** A documented example is accepted, or rejected for a reason of its own, such as a conflict. */
  async checkExamples(): Promise<void> {
    const { operation, resources } = this;
    const path = resources.pathOf(operation);
    const body = resources.newBody(operation);
    const isAccepted = await this.requireAccepted(path, 'the documented example', body);
    // The resource may exist now.
    if (isAccepted && body !== undefined)
      await this.requireAccepted(path, 'the documented example, sent again', body);
    for (const { name, example, schema } of parametersIn(operation, 'query')) {
      const { enum: choices } = this.api.document.schema(schema);
      for (const value of choices ?? [example ?? this.api.document.exampleOf(schema)]) {
        if (value === undefined) continue;
        await this.requireAccepted(
          withQuery(path, name, value),
          `${name} = ${shown(value)}`,
          resources.newBody(operation),
        );
      }
    }
  }

  /** A parameter is sent as it is written in the URL. */
  async checkQuery(): Promise<void> {
    const { api, operation, resources } = this;
    const path = resources.pathOf(operation);
    for (const parameter of parametersIn(operation, 'query')) {
      const { name, schema } = parameter;
      const own = invalidValues(api.document.schema(schema), 1).map((text) =>
        encodeURIComponent(text.replace(/^"(.*)"$/, '$1')),
      );
      // All lists take the parameters of pages from one class.
      const hostile = ['limit', 'cursor', 'sort'].includes(name) ? [] : PARAMETERS;
      const values = api.isThorough ? ['', ...own, ...hostile] : own.slice(0, 3);
      for (const value of values) {
        const isAllowed = this.allows(parameter, decoded(value));
        if (isAllowed && !api.isThorough) continue;
        const what = `${name} = ${shown(value)}`;
        const { status } = await this.send(`${withQuery(path, name, 'X').slice(0, -1)}${value}`, what);
        if (status < 300 && !isAllowed) this.noteAccepted(what, name);
      }
      await this.checkLength(path, parameter);
      if (!api.isThorough) continue;
      await this.send(`${withQuery(path, name, '1')}&${name}=2`, `${name} = (twice)`);
      await this.send(withQuery(path, `${name}[a]`, '1'), `${name}[a] = 1`);
    }
  }

  async checkBody(): Promise<void> {
    const { api, operation, resources } = this;
    const { body: schema } = operation;
    if (!schema) return;
    await this.requireCode('{', {}, 400, 'malformed_json');
    await this.requireCode('name=Rex', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type');
    for (const text of api.isThorough ? BODIES : []) {
      const response = await this.send(undefined, `body = ${shown(text)}`, text);
      if (isSuccess(response)) this.noteAccepted(`body = ${shown(text)}`, 'body');
    }
    for (const [place, member] of this.members()) {
      const item = api.document.exampleOf(member.items ?? {});
      const invalid = invalidValues(member, item);
      for (const text of api.isThorough ? new Set([...HOSTILE_VALUES, ...invalid]) : invalid.slice(0, 3)) {
        await this.checkMember(schema, place, replaceAt(resources.newBody(operation), place, text), text);
      }
      const without = changedAt(resources.newBody(operation), place, undefined);
      await this.checkMember(schema, place, without === undefined ? undefined : jsonOf(without), '(missing)');
    }
    const example = resources.newBody(operation);
    for (const [name, value] of api.isThorough && isMembers(example) ? Object.entries(example) : []) {
      const text = `{${jsonOf(name)}:${jsonOf([value])},${jsonOf(example).slice(1)}`;
      const response = await this.send(undefined, `body = ${shown(text)}`, text);
      if (isSuccess(response)) this.noteAccepted('a body with two members of one name', 'duplicate');
    }
  }

  private members(): readonly (readonly [Place, Schema])[] {
    const { body } = this.operation;
    return body === undefined ? [] : this.api.document.placesOf(body);
  }

  private async requireAccepted(path: string, what: string, body?: unknown): Promise<boolean> {
    const response = await this.api.send(this.operation, { path, body, what });
    if (response.status !== 400) return true;
    const message = shown(valueAt(jsonIn(response.text), 'message'));
    this.api.note(this.operation.title, `rejects ${what} (${codeOf(response)}: ${message})`);
    return false;
  }

  private async requireCode(
    body: string,
    headers: Readonly<Record<string, string>>,
    status: number,
    code: string,
  ) {
    const { api, operation, resources } = this;
    const what = `body = ${body}`;
    const response = await api.send(operation, { path: resources.pathOf(operation), body, headers, what });
    if (response.status === status && codeOf(response) === code) return;
    api.note(
      operation.title,
      `responds ${response.status} ${codeOf(response)} to ${what}, and must respond ${status} ${code}`,
    );
  }

  /** A list in a query is a repeated parameter. */
  private async checkLength(path: string, { name, schema }: Parameter): Promise<void> {
    const { type, maxItems = Infinity, items = {} } = this.api.document.schema(schema);
    if (type !== 'array' || maxItems > MAX_REPEATED) return;
    const item = this.api.document.exampleOf(items) ?? 1;
    const values = Array.from({ length: maxItems + 1 }, () => item);
    const what = `${name} = ${shown(item)} (${values.length} times)`;
    const { status } = await this.send(withQuery(path, name, values), what);
    if (status < 300) this.noteAccepted(what, name);
  }

  private allows({ schema }: Parameter, text: string): boolean {
    const { document } = this.api;
    const { type, items } = document.schema(schema);
    const single = items === undefined ? type : document.schema(items).type;
    const isNumber = single === 'integer' || single === 'number';
    const item = isNumber && PLAIN_NUMBER.test(text) ? (jsonIn(text) ?? Number(text)) : text;
    const value = items === undefined ? item : [item];
    return single === 'boolean' || document.errors(schema, value).length === 0;
  }

  /** A body that differs from its schema must not be accepted. */
  private async checkMember(
    schema: Schema,
    place: Place,
    body: string | undefined,
    text: string,
  ): Promise<void> {
    if (body === undefined) return;
    const { api, operation } = this;
    const [error] = api.document.errors(schema, jsonIn(body));
    // A value that the schema allows would only create more resources of a deployment.
    if (!error && !api.isThorough) return;
    const name = place.join('.');
    const what = `${name} = ${shown(text)}`;
    const response = await this.send(undefined, what, body);
    if (isSuccess(response) && error) {
      this.noteAccepted(`${what} (${`${error.pointer} ${error.rule}`.trim()})`, name);
    } else if (error && response.status === 400 && codeOf(response) !== 'validation_failed') {
      if (api.isThorough) return;
      api.note(
        operation.title,
        `responds 400 ${codeOf(response)} to ${what}, and must respond validation_failed`,
      );
    }
  }

  private noteAccepted(what: string, place: string): void {
    this.api.note(this.operation.title, `accepts ${what}, which its document forbids`, `accepts ${place}`);
  }

  private send(path: string | undefined, what: string, body?: string) {
    const { operation, resources } = this;
    return this.api.send(operation, {
      path: path ?? resources.pathOf(operation),
      body: body ?? resources.newBody(operation),
      what,
    });
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
