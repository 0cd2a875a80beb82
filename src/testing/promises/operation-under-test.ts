import { type Api, type ApiRequest, codeOf } from '../api';
import { type ApiDocument, isList, type Operation, type Schema } from '../api-document';
import type { TestResponse } from '../http-client';
import type { Place } from '../json';
import { isCreation, type Resources, UNKNOWN_IDS } from '../resources';

/** Checks of each operation, by the promise. They note each way in which the API breaks it. */
export type Promises = Readonly<Record<string, (tested: OperationUnderTest) => Promise<void> | void>>;

/** An operation under check: sends requests to it, and notes how it breaks a promise. */
export class OperationUnderTest {
  readonly document: ApiDocument;

  constructor(
    readonly api: Api,
    readonly resources: Resources,
    readonly operation: Operation,
  ) {
    this.document = api.document;
  }

  /** The path of a request to the operation, of a resource of this run if there is one. */
  get path(): string {
    return this.resources.pathOf(this.operation);
  }

  /** Returns the path without a required parameter of the query. */
  pathWithout(name: string): string {
    return this.path.replace(new RegExp(`(?<=[?&])${name}=[^&]*&?`, 'g'), '').replace(/[?&]$/, '');
  }

  get isCreating(): boolean {
    return isCreation(this.operation);
  }

  get members(): readonly (readonly [Place, Schema])[] {
    return this.document.placesOf(this.operation.body ?? {});
  }

  send(request: Partial<ApiRequest> = {}): Promise<TestResponse> {
    return this.api.send(this.operation, { path: this.path, ...request });
  }

  /** Sends the example of the body with texts that no earlier body has. */
  sendExample(request: Partial<ApiRequest>): Promise<TestResponse> {
    return this.send({ body: this.resources.newBody(this.operation), ...request });
  }

  /** Sends a request that changes nothing: with a body that no operation accepts, or for an id that no resource has. */
  sendHarmless(request: Partial<ApiRequest> = {}): Promise<TestResponse> {
    const { body, method } = this.operation;
    const id = method === 'GET' || body ? undefined : UNKNOWN_IDS[0];
    return this.send({ path: this.resources.pathOf(this.operation, id), body: body && '{', ...request });
  }

  /** Returns the operation that lists the resources of a path. */
  listAt(path: string): OperationUnderTest | undefined {
    const list = this.document.at('GET', path);
    return list && isList(list) ? new OperationUnderTest(this.api, this.resources, list) : undefined;
  }

  /** Notes that the operation breaks a promise. @param kind the mistake without the value that shows it */
  note(problem: string, kind?: string): void {
    this.api.note(this.operation.title, problem, kind);
  }

  /**
   * Notes a response with another status or code.
   *
   * @param cause such as `to a wrong key`
   * @param wanted a status, with or without a code and advice: `404`, `400 invalid_cursor`, `304. Return the same body`
   */
  requires(response: TestResponse, cause: string, wanted: string): boolean {
    const [, status, code] = /^(\d+)(?: (\w+))?/.exec(wanted) ?? [];
    const own = codeOf(response);
    const isMet = response.status === Number(status) && (code === undefined || own === code);
    const got = code === undefined || own === undefined ? response.status : `${response.status} ${own}`;
    if (!isMet) this.note(`responds ${got} ${cause}, and must respond ${wanted}`);
    return isMet;
  }
}
