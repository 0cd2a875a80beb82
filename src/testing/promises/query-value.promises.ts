import { type Parameter, parametersIn } from './api-document';
import { PARAMETERS } from './hostile-values';
import { shown } from './probe';
import { exampleOf, queryText, resolved, withQuery } from './schema';
import { ValueRequests } from './value-requests';

/** More of one parameter would make the URL too long. */
const MAX_REPEATED = 500;

const PLAIN_NUMBER = /^-?\d+(\.\d+)?$/;

/** Sends hostile values in each parameter of a query. */
export class QueryCheck extends ValueRequests {
  async checkQuery(): Promise<void> {
    const path = this.resources.pathOf(this.operation);
    for (const parameter of parametersIn(this.operation, 'query')) {
      const { name } = parameter;
      for (const value of ['', ...PARAMETERS]) {
        const what = `${name} = ${shown(value)}`;
        const { status } = await this.send(withQuery(path, `${name}=${value}`), what);
        if (status < 300 && !this.allows(parameter, value)) this.noteAccepted(what, name);
      }
      await this.checkLength(path, parameter);
      await this.send(withQuery(path, `${name}=1&${name}=2`), `${name} = (twice)`);
      await this.send(withQuery(path, `${name}[a]=1`), `${name}[a] = 1`);
    }
  }

  /** A list in a query is a repeated parameter. */
  private async checkLength(path: string, { name, schema }: Parameter): Promise<void> {
    const { type, maxItems = Infinity, items = {} } = schema;
    if (type !== 'array' || maxItems > MAX_REPEATED) return;
    const item = exampleOf(items, this.probe.api.schemas) ?? 1;
    const values = Array.from({ length: maxItems + 1 }, () => item);
    const what = `${name} = ${shown(item)} (${values.length} times)`;
    const { status } = await this.send(withQuery(path, queryText(name, values)), what);
    if (status < 300) this.noteAccepted(what, name);
  }

  private allows({ schema }: Parameter, text: string): boolean {
    const { schemas } = this.probe.api;
    const { type, items } = resolved(schema, schemas);
    const single = items === undefined ? type : resolved(items, schemas).type;
    const isNumber = single === 'integer' || single === 'number';
    const item = isNumber && PLAIN_NUMBER.test(text) ? Number(text) : text;
    const value = items === undefined ? item : [item];
    return single === 'boolean' || this.probe.api.errors(schema, value).length === 0;
  }
}
