import { parametersIn } from './api-document';
import { BODIES, hostileValues, PARAMETERS, UNKNOWN_IDS } from './hostile-values';
import { isMembers, type JsonText, removeAt, repeatMembers, replaceAt } from './json-body';
import { isSuccess, type Probe, shown } from './probe';
import { QueryCheck } from './query-value.promises';
import type { Resources } from './resources';
import { exampleOf, type Place, queryText, type Schema, withQuery } from './schema';
import { ValueRequests } from './value-requests';

/** Requests with one body, after the first. */
const REPETITIONS = 4;

/** Sends examples and hostile values: in each parameter, in each member of a body, and as the whole body. */
export async function checkValues(probe: Probe, resources: Resources): Promise<void> {
  for (const operation of probe.api.operations) {
    const check = new ValueCheck(probe, resources, operation);
    await check.checkExamples();
    await check.checkPath();
    await new QueryCheck(probe, resources, operation).checkQuery();
    if (operation.body) await check.checkBody(operation.body);
  }
}

class ValueCheck extends ValueRequests {
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
      const text = value === undefined ? '' : queryText(parameter.name, value);
      if (text === '') continue;
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
}
